import { isComplex, isFloatingPoint, isIntegral, type ScalarType } from '@cresset/tensor';
import { boxingOf } from '../table/boxing.ts';
import { check } from '../kernels/errors.ts';
import { cppTypeName } from '../kernels/type-names.ts';
import type { OperatorRow } from '../table/row.ts';
import { canCast, dtypeName } from '../kernels/type-promotion.ts';

/** Which dtypes a tensor that results are written to may have, and what PyTorch's kernels say of others. */
interface WritingRule {
  readonly takes: (computed: ScalarType, out: ScalarType) => boolean;
  /** `{want}` and `{got}` stand for the dtypes' names, `{Want}` and `{Got}` for those of C++. */
  readonly message: string;
  /** Sizes that do not fit are complained of only after it. */
  readonly isFirst?: true;
}

const same = (message: string): WritingRule => ({ takes: (computed, out) => computed === out, message });
const castable = (message: string): WritingRule => ({ takes: canCast, message });

const structured = same('Expected out tensor to have dtype {Want}, but got {Got} instead');
const iterated = castable("result type {want} can't be cast to the desired output type {got}");
const unary = same('Found dtype {got} but expected {want}');
const anything: WritingRule = { takes: () => true, message: '' };

const safely = (name: string, argument = 'result'): WritingRule =>
  castable(
    `${name}: Expected ${argument} to be safely castable from {want} dtype, but got ${argument} with dtype {got}`,
  );
const complexOutput = (name: string): WritingRule => ({
  takes: (_, out) => isComplex(out),
  message: `${name} expects a complex output tensor, but got {got}`,
});
const floatingOutput = (name: string): WritingRule => ({
  takes: (_, out) => isFloatingPoint(out),
  message: `${name} expects a floating point output tensor, but got {got}`,
});
const onlyBool = (name: string): WritingRule => same(`${name} does not support non-boolean outputs.`);
const concatenation = castable("torch.cat(): input types can't be cast to the desired output type {got}");
const normed = (name: string): WritingRule => same(`linalg.${name} expected out tensor dtype {want} but got: {got}`);
const scalarType = same('expected scalar type {want} but found {got}');
const scalarTypeSnake = same('expected scalar_type {want} but found {got}');
const product = same('result dtype {got} does not match input dtype {want}');
const truth = (name: string): WritingRule => ({
  takes: (_, out) => out === 'bool' || out === 'uint8',
  message: `${name} only supports bool tensor for result, got: {got}`,
});
const contraction = same(
  'tensordot: Expected the output tensor to have dtype {want}, but got an output tensor with dtype {got}',
);
const argument = same("Expected object of scalar type {want} but got scalar type {got} for argument 'out'");

const each = (names: string, rule: WritingRule | ((name: string) => WritingRule)): [string, WritingRule][] =>
  names.split(' ').map((name) => [name, typeof rule === 'function' ? rule(name.replace('fft_', '')) : rule]);

/** By operator, or by operator and overload where that has a rule of its own; operators in place come with their `_`. */
const rules: ReadonlyMap<string, WritingRule> = new Map([
  ...each(
    'sum.IntList_out prod.int_out cumsum cumprod pow.Scalar_out linalg_matrix_rank arange linspace logspace',
    anything,
  ),
  ...each('bernoulli normal full ones zeros rand randn randint randperm eye fill', anything),
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
  ...each('lerp.Tensor_out clamp_min.out clamp_max.out binary_cross_entropy soft_margin_loss', unary),
  ...each('cat concat concatenate stack hstack vstack row_stack dstack column_stack _chunk_cat', concatenation),
  ...each('fft_fft fft_ifft fft_rfft fft_ihfft', complexOutput),
  ...each('fft_fft2 fft_fftn fft_ifft2 fft_ifftn', complexOutput('fftn')),
  ...each('fft_rfft2 fft_rfftn', complexOutput('rfftn')),
  ...each('fft_ihfft2 fft_ihfftn', complexOutput('ihfftn')),
  ...each('fft_irfft fft_hfft', floatingOutput),
  ...each('fft_irfft2 fft_irfftn', floatingOutput('irfftn')),
  ...each('fft_hfft2 fft_hfftn', floatingOutput('hfftn')),
  ...each('any all', truth),
  ...each('isposinf isneginf signbit', onlyBool),
  ...each(
    'amax amin',
    same("Expected the dtype for input and out to match, but got {want} for input's dtype and {got} for out's dtype."),
  ),
  ...each('dot vdot matmul linalg_matmul', product),
  ...each('complex polar', argument),
  ...each('log_sigmoid multilabel_margin_loss linalg_solve_triangular', scalarType),
  ...each('logcumsumexp diff', scalarTypeSnake),
  ...each('inner tensordot', contraction),
  ...each('quantile nanquantile', same('quantile() out tensor must be same dtype as the input tensor')),
  ...each('linalg_matrix_norm nuclear_norm', normed('matrix_norm')),
  ...each('linalg_norm', normed('norm')),
  ...each('linalg_pinv', safely('linalg.pinv')),
  ...each('linalg_cond', safely('linalg.cond')),
  ...each('linalg_eigvals', safely('torch.linalg.eigvals', 'eigenvalues')),
  ...each('linalg_householder_product orgqr', safely('torch.linalg.householder_product')),
  ...each('linalg_matrix_power matrix_power', safely('matrix_power')),
  ...each('linalg_tensorinv', safely('tensorinv')),
  ...each('linalg_tensorsolve', safely('tensorsolve')),
  ...each('cholesky cholesky_solve cholesky_inverse', safely),
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
    'mvlgamma special_multigammaln',
    castable("mvlgamma: result type {want} can't be cast to the desired output type {want}"),
  ),
  ...each(
    'float_power',
    castable("the output given to float_power has dtype {got} but the operation's result requires dtype {want}"),
  ),
  ...each('mean.dtype_out', castable("mean.dtype_out(): input types can't be cast to the desired output type {got}")),
  ...each('diag', castable("diag: result type {want} can't be cast to the desired out= type {got}")),
  ...each('ldexp', castable("ldexp can't be cast to the desired output type {got}")),
  ...each('ldexp_', { ...castable("ldexp can't be cast to the desired output type {got}"), isFirst: true }),
  ...each('abs_', same('In-place abs is not supported for complex tensors.')),
  ...each('mvlgamma_', castable("mvlgamma: result type {got} can't be cast to the desired output type {want}")),
  ...each('float_power_', {
    ...same("the base given to float_power_ has dtype {got} but the operation's result requires dtype {want}"),
    isFirst: true,
  }),
  ...each('heaviside', same('heaviside is not yet implemented for tensors with different dtypes.')),
  ...each(
    'histc',
    same(
      'torch.histogram: input tensor and hist tensor should have the same dtype, but got input {Want} and hist {Got}',
    ),
  ),
  ...each('index_select', same('index_select(): self and result must have the same scalar type')),
  ...each('linalg_multi_dot', same('multi_dot(): expected out tensor to have dtype {Want} but got {Got}')),
  ...each('linalg_vecdot', same('linalg.vecdot: Expected out of dtype{want} but found {got}')),
  ...each('masked_select', same('masked_select(): self and result must have the same scalar type')),
  ...each('multinomial', same('multinomial expects {want} tensor out, got: {got}')),
  ...each('nan_to_num', same('nan_to_num: dtype of out: {got} should be same as input: {want}')),
  ...each('narrow_copy', same('Expected self.dtype() == output.dtype() to be true, but got false.')),
  ...each('nonzero', same('nonzero: Expected out tensor to have scalar type {want} but got scalar type{got}')),
  ...each(
    'ormqr',
    same(
      'torch.ormqr: Expected input and result to have the same dtype, but input has dtype{want} and result has dtype {got}',
    ),
  ),
  ...each(
    'bucketize searchsorted',
    same(
      "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {got}",
    ),
  ),
  ...each(
    'take',
    same('take(): self and out expected to have the same dtype, but got self.dtype = {want} and out.dtype = {got}'),
  ),
  ...each('where.self_out', same('Expected out type to be {want} but got {got}')),
]);

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
