import { isComplex, isFloatingPoint, isIntegral, type ScalarType } from '@cresset/tensor';
import { boxingOf } from '../table/boxing.ts';
import { check } from '../kernels/errors.ts';
import { cppTypeName } from '../kernels/type-names.ts';
import type { OperatorRow } from '../table/row.ts';
import { canCast, dtypeName } from '../kernels/type-promotion.ts';

/** Which dtypes a tensor that results are written to may have, and what PyTorch's kernels say of others. */
export type WritingEntry = readonly [operator: string, rule: WritingRule];

export interface WritingRule {
  readonly takes: (computed: ScalarType, out: ScalarType) => boolean;
  /** `{want}` and `{got}` stand for the dtypes' names, `{Want}` and `{Got}` for those of C++. */
  readonly message: string;
  /** Sizes that do not fit are complained of only after it. */
  readonly isFirst?: true;
}

export const same = (message: string): WritingRule => ({ takes: (computed, out) => computed === out, message });
export const castable = (message: string): WritingRule => ({ takes: canCast, message });

const structured = same('Expected out tensor to have dtype {Want}, but got {Got} instead');
const iterated = castable("result type {want} can't be cast to the desired output type {got}");
export const unary = same('Found dtype {got} but expected {want}');
export const anything: WritingRule = { takes: () => true, message: '' };

const onlyBool = (name: string): WritingRule => same(`${name} does not support non-boolean outputs.`);
export const concatenation = castable("torch.cat(): input types can't be cast to the desired output type {got}");
export const scalarType = same('expected scalar type {want} but found {got}');
export const product = same('result dtype {got} does not match input dtype {want}');
const truth = (name: string): WritingRule => ({
  takes: (_, out) => out === 'bool' || out === 'uint8',
  message: `${name} only supports bool tensor for result, got: {got}`,
});

/** A rule for several operators, or one made of each name. */
export const each = (names: string, rule: WritingRule | ((name: string) => WritingRule)): WritingEntry[] =>
  names.split(' ').map((name) => [name, typeof rule === 'function' ? rule(name.replace('fft_', '')) : rule]);

/** By operator, or by operator and overload where that has a rule of its own; operators in place come with their `_`. */
const rules: Map<string, WritingRule> = new Map([
  ...each('sum.IntList_out prod.int_out cumsum cumprod pow.Scalar_out arange linspace logspace', anything),
  ...each('full ones zeros eye fill', anything),
  ...each('var std glu mean.out lgamma norm.ScalarOpt_dtype_out', iterated),
  ...each(
    'add.Scalar_out sub.Scalar_out rsub mul.Scalar_out div.Scalar_out div.Scalar_mode_out floor_divide.Scalar_out relu remainder.Scalar_Tensor_out',
    structured,
  ),
  ...each('abs neg sign sgn ceil floor round trunc frac conj_physical bitwise_not hardtanh leaky_relu gelu', unary),
  ...each('silu mish elu hardsigmoid hardswish softplus hardshrink softshrink absolute fix negative', unary),
  ...each(
    'clamp_. clamp_min_. clamp_max_. clip_.',
    castable("result type {want} can't be cast to the desired output type {Got}"),
  ),
  ...each('lerp.Tensor_out clamp.out clip.out clamp_min.out clamp_max.out', unary),
  ...each('kron', iterated),
  ...each('cat concat concatenate stack hstack vstack row_stack dstack column_stack', concatenation),
  ...each('any all', truth),
  ...each('isposinf isneginf signbit', onlyBool),
  ...each(
    'amax amin',
    same("Expected the dtype for input and out to match, but got {want} for input's dtype and {got} for out's dtype."),
  ),
  ...each('dot matmul linalg_matmul', product),
  ...each('log_sigmoid', scalarType),
  ...each(
    'max.unary_out min.unary_out',
    castable(
      'Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got false.',
    ),
  ),
  ...each('logsumexp special_logsumexp', {
    takes: (_, out) => isFloatingPoint(out) || isComplex(out),
    message: 'logsumexp(): Expected floating point type for result tensor, but got: {got}',
  }),
  ...each('nansum nanmean', {
    takes: (computed, out) => isIntegral(computed, true) || isFloatingPoint(out),
    message: '"nansum_cpu" not implemented for \'{got}\'',
  }),
  ...each(
    'float_power',
    castable("the output given to float_power has dtype {got} but the operation's result requires dtype {want}"),
  ),
  ...each('mean.dtype_out', castable("mean.dtype_out(): input types can't be cast to the desired output type {got}")),
  ...each('abs_', same('In-place abs is not supported for complex tensors.')),
  ...each('float_power_', {
    ...same("the base given to float_power_ has dtype {got} but the operation's result requires dtype {want}"),
    isFirst: true,
  }),
  ...each('index_select', same('index_select(): self and result must have the same scalar type')),
  ...each('masked_select', same('masked_select(): self and result must have the same scalar type')),
  ...each('nan_to_num', same('nan_to_num: dtype of out: {got} should be same as input: {want}')),
  ...each('nonzero', same('nonzero: Expected out tensor to have scalar type {want} but got scalar type{got}')),
  ...each('where.self_out', same('Expected out type to be {want} but got {got}')),
]);

/** Adds to the rules, by operator as they are above. */
export function limitWriting(added: readonly WritingEntry[]): void {
  for (const [operator, rule] of added) rules.set(operator, rule);
}

/** Throws where an operator does not write results of dtype `computed` to a tensor of dtype `out`. */
export function checkWritable(row: OperatorRow, computed: ScalarType, out: ScalarType, when?: 'before sizes'): void {
  const { takes, message, isFirst } = ruleOf(row);
  if (when && !isFirst) return;
  check(takes(computed, out), () =>
    message
      .replaceAll('{want}', dtypeName(computed))
      .replaceAll('{got}', dtypeName(out))
      .replaceAll('{Want}', cppTypeName(computed))
      .replaceAll('{Got}', cppTypeName(out)),
  );
}

function ruleOf(row: OperatorRow): WritingRule {
  const { name, overload } = boxingOf(row).signature;
  const own = name.slice('aten::'.length);
  const { from, form } = row.derived!;
  const usual = from.pointwise || form === 'in-place' ? iterated : structured;
  return rules.get(`${own}.${overload}`) ?? rules.get(own) ?? usual;
}
