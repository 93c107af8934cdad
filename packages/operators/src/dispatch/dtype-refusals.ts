import { isComplex, isIntegral, promoteTypes, Tensor, type ScalarType, symEq } from '@cresset/tensor';
import { boxingOf } from '../table/boxing.ts';
import { notImplementedFor, OperatorError } from '../kernels/errors.ts';
import { limitWriting, type WritingEntry } from './writable-dtypes.ts';
import type { OperatorRow, Unboxed } from '../table/row.ts';
import { dtypeName } from '../kernels/type-promotion.ts';

/**
 * Dtypes that PyTorch's kernels for the processor refuse although the values would be clear: `i` integers, `j` those with a sign, `n` those of less than 64 bits, `t` bool, `h` float16, `b` bfloat16,
 * `c` complex. What is said is a kernel's name, for "not implemented", or a sentence where `{D}` stands for the dtype. A kernel is missed only where nothing else is wrong,
 * some only where there are elements as well, and some only where those are in lines, not one by itself.
 */
export type DtypeRefusal = readonly [
  said: string,
  classes: string,
  operators: string,
  when?: 'after sizes' | 'with elements' | 'with lines',
];

/** Those of the common operators; families that come with a part bring theirs. */
const refused: readonly DtypeRefusal[] = [
  ['abs_cpu', 't', 'abs'],
  ['aminmax_cpu', 'c', 'aminmax'],
  ['avg_pool2d', 'n', 'avg_pool1d avg_pool2d'],
  ['avg_pool3d_out_frame', 'nhb', 'avg_pool3d'],
  ['bmm', 't', 'bmm'],
  ['baddbmm', 't', 'baddbmm'],
  ['digamma', 'c', 'digamma'],
  ['dot', 't', 'dot'],
  ['erf_vml_cpu', 'c', 'erf'],
  ['erfc_vml_cpu', 'c', 'erfc'],
  ['erfinv_vml_cpu', 'c', 'erfinv'],
  ['lerp_kernel_scalar', 'it', 'lerp'],
  ['lerp_kernel_tensor', 'it', 'lerp.Tensor'],
  ['lgamma_vml_cpu', 'c', 'lgamma'],
  ['max_all', 'c', 'max'],
  ['max_values_cpu', 'c', 'amax', 'with elements'],
  ['maximum_cpu', 'c', 'clamp_min.Tensor'],
  ['min_all', 'c', 'min'],
  ['min_values_cpu', 'c', 'amin', 'with elements'],
  ['minimum_cpu', 'c', 'clamp_max.Tensor'],
  ['rms_norm', 'it', 'rms_norm'],
  ['round_vml_cpu', 'c', 'round.'],
  ['slow_conv3d_cpu', 't', 'conv3d'],
  ['slow_conv_transpose2d_out_cpu', 'nt', 'conv_transpose1d conv_transpose2d'],
  ['slow_conv_transpose3d_out_cpu', 'nt', 'conv_transpose3d'],
  ['softmax_lastdim_kernel_impl', 'c', 'scaled_dot_product_attention'],
  ['softshrink_check', 'itc', 'softshrink'],
  ['threshold_cpu', 't', 'threshold'],
  ['trace', 't', 'trace'],
  ['clamp is not supported for complex types', 'c', 'hardtanh relu relu6'],
  ['maximum not implemented for complex tensors.', 'c', 'maximum max.other'],
  ['minimum not implemented for complex tensors.', 'c', 'minimum min.other'],
  ['nansum on CPU does not support complex inputs', 'c', 'nanmean nansum', 'after sizes'],
  ['std_mean only support floating point and complex dtypes', 'it', 'std_mean'],
  ['var_mean only support floating point and complex dtypes', 'it', 'var_mean'],
  ['argmax(): does not support bool input', 't', 'argmax'],
  ['argmax(): does not support complex input', 'c', 'argmax'],
  ['argmin(): does not support bool input', 't', 'argmin'],
  ['argmin(): does not support complex input', 'c', 'argmin'],
  ['ceil is not supported for complex inputs', 'c', 'ceil'],
  ['deg2rad is not supported for complex tensors.', 'c', 'deg2rad'],
  ['floor is not supported for complex inputs', 'c', 'floor'],
  ['fmax not implemented for complex tensors.', 'c', 'fmax'],
  ['fmin not implemented for complex tensors.', 'c', 'fmin'],
  ['isneginf does not support complex inputs.', 'c', 'isneginf'],
  ['isposinf does not support complex inputs.', 'c', 'isposinf'],
  ['max(): does not support complex input', 'c', 'max.dim', 'after sizes'],
  ['min(): does not support complex input', 'c', 'min.dim', 'after sizes'],
  ['nanmean(): expected input to have floating point or complex dtype but got {D}', 'it', 'nanmean'],
  ['{D} inputs not supported for hardtanh', 't', 'relu6 hardtanh'],
  ['rad2deg is not supported for complex tensors.', 'c', 'rad2deg'],
  ['Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.', 'c', 'sign'],
  ['signbit is not implemented for complex tensors.', 'c', 'signbit'],
  ['trunc is not supported for complex inputs', 'c', 'trunc'],
];

const byOperator = new Map<string, DtypeRefusal[]>();

/** Adds to the dtypes that are refused. */
export function refuseDtypes(refusals: readonly DtypeRefusal[]): void {
  for (const refusal of refusals) {
    for (const operator of refusal[2].split(' ')) {
      const known = byOperator.get(operator);
      if (!known) byOperator.set(operator, [refusal]);
      else if (!known.includes(refusal)) known.push(refusal);
    }
  }
}

refuseDtypes(refused);

/** The classes that a dtype is in; float32 and float64 are in none. */
function classesOf(dtype: ScalarType): string {
  if (isComplex(dtype)) return 'c';
  if (dtype === 'bool') return 't';
  if (isIntegral(dtype, false)) return dtype === 'uint8' ? 'in' : dtype === 'int64' ? 'ij' : 'ijn';
  return dtype === 'float16' ? 'h' : dtype === 'bfloat16' ? 'b' : '';
}

/** Whether what is said of a dtype is the name of a kernel that is not implemented for it, and no sentence. */
const isKernel = (said: string): boolean => !said.includes(' ');

/** What PyTorch says of an operator's first tensor of this dtype, at some time or now; null where it takes it. */
export function refusalOf(
  row: OperatorRow,
  dtype: ScalarType,
  isNow?: (said: string, when?: DtypeRefusal[3]) => boolean,
): OperatorError | null {
  const { name, overload } = boxingOf(row.derived?.from ?? row).signature;
  const own = name.slice('aten::'.length);
  const entries = byOperator.get(`${own}.${overload}`) ?? byOperator.get(own);
  const entry = entries?.find(
    ([said, classes, , when]) =>
      (isNow?.(said, when) ?? true) && [...classesOf(dtype)].some((each) => classes.includes(each)),
  );
  if (!entry) return null;
  const [said] = entry;
  if (isKernel(said)) return notImplementedFor(said, dtypeName(dtype));
  return new OperatorError(said.replaceAll('{D}', dtypeName(dtype)));
}

/** Throws where PyTorch refuses the dtype that an operator would compute in. */
export function checkReadable(row: OperatorRow, args: Record<string, Unboxed>, now?: 'after sizes'): void {
  const source = row.derived?.from ?? row;
  const tensors = Object.values(args).filter((value) => value instanceof Tensor);
  if (tensors.length === 0) return;
  const [first, ...others] = tensors.map(({ dtype }) => dtype);
  const isEmpty = tensors.some(({ symNumel }) => symEq(symNumel, 0));
  // `rand_like` and its kind compute in the dtype that is asked for.
  const asked = args.dtype && /_like\b/.test(source.schema) ? (args.dtype as ScalarType) : null;
  const error = refusalOf(
    row,
    asked ?? (source.pointwise || source.promotes ? others.reduce(promoteTypes, first) : first),
    (said, when = isKernel(said) ? 'after sizes' : undefined) =>
      (when && 'after sizes') === now &&
      (!when || when === 'after sizes' || (!isEmpty && (when === 'with elements' || tensors[0].dim > 0))),
  );
  if (error) throw error;
}

/** Dtypes that a family's operators refuse though they could compute with them, since PyTorch's do. */
export interface DtypeLimits {
  readonly refused?: readonly DtypeRefusal[];
  /** What out arguments and tensors written in place may be. */
  readonly written?: readonly WritingEntry[];
}

/** Puts a family's limits in place; once more changes nothing. */
export function limitDtypes({ refused = [], written = [] }: DtypeLimits): void {
  refuseDtypes(refused);
  limitWriting(written);
}
