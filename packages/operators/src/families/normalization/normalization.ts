import {
  isComplex,
  isFloatingPoint,
  symEq,
  symFloorDiv,
  symMod,
  symMul,
  symSame,
  type ScalarType,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import { exprTypeOf } from '@cresset/tensorexpr';
import { expand } from '../../kernels/broadcast.ts';
import { kernel, type Forms } from '../../table/builders.ts';
import { channelsLastStrides, sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { checkParameterDtypes } from './parameter-dtypes.ts';
import { hostComplexRmsNorm } from './complex-rms-norm.ts';
import { hostNormalize, lowerNormalize, type Normalization } from './normalized-groups.ts';
import { permuteView, reshapeView, unsqueezeView } from '../../kernels/views.ts';

/** Layer, group and root mean square norms (ATen/native/layer_norm.cpp, group_norm.cpp). Batch norms: batch-norm.ts. */

/** A row whose results are normalised elements, and with them what was saved of the groups. */
export function normalizationRow<Args extends { readonly input: Tensor }>(
  schema: string,
  rule: Forms & {
    shape: (args: Args) => TensorMeta | readonly TensorMeta[];
    normalization: (args: Args, outputs: readonly Tensor[]) => Normalization;
  },
): OperatorRow {
  const label = schema.slice(0, schema.search(/[.(]/));
  return kernel<Args>(schema, {
    inPlace: rule.inPlace,
    out: rule.out,
    shape: rule.shape,
    *host(args, outputs) {
      const normalization = rule.normalization(args, outputs);
      if (isComplex(args.input.dtype)) yield* hostComplexRmsNorm(normalization);
      else yield* hostNormalize(normalization);
    },
    lower: (args: Args, outputs: readonly Tensor[], context: LoweringContext) =>
      lowerNormalize(label, rule.normalization(args, outputs), context),
    lowerable: ({ input }) => exprTypeOf(input.dtype) === 'float',
  });
}

export function refuseIntegers(kernelName: string, dtype: ScalarType): void {
  if (!isFloatingPoint(dtype)) throw notImplementedFor(kernelName, dtypeName(dtype));
}

export interface LayerNormArgs {
  readonly input: Tensor;
  readonly normalized_shape: readonly number[];
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly eps: number;
}

function checkNormalizedShape(args: Omit<LayerNormArgs, 'eps'>, star: string): void {
  const { input, normalized_shape: shape } = args;
  check(
    shape.length >= 1,
    () =>
      `Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = ${sizesText(shape)}`,
  );
  for (const name of ['weight', 'bias'] as const) {
    const tensor = args[name];
    check(
      tensor === null || symSame(tensor.symSizes, shape),
      () =>
        `Expected ${name} to be of same shape as normalized_shape, but got ${name} of shape ${sizesText(tensor!.sizes)} and normalized_shape = ${sizesText(shape)}`,
    );
  }
  check(
    input.dim >= shape.length && symSame(input.symSizes.slice(-shape.length), shape),
    () =>
      `Given normalized_shape=${sizesText(shape)}, expected input with shape [${star}${shape.join(', ')}], but got input of size${sizesText(input.sizes)}`,
  );
}

export function layerNormShape(args: LayerNormArgs): TensorMeta {
  checkNormalizedShape(args, '*, ');
  const { input, weight, bias } = args;
  checkParameterDtypes(input, [weight, bias]);
  refuseIntegers('LayerNormKernelImpl', input.dtype);
  return { sizes: args.input.symSizes, dtype: args.input.dtype };
}

/** The groups lie in the trailing dimensions: weight and bias repeat over the leading ones. */
export function trailing(args: LayerNormArgs, outputs: readonly Tensor[]): Normalization {
  const { input, weight, bias, eps, normalized_shape: shape } = args;
  const [out, mean, rstd] = outputs;
  const outer = input.dim - shape.length;
  const full = (tensor: Tensor | null): Tensor | null => tensor && expand(tensor, input.symSizes);
  const flat = (tensor: Tensor): Tensor =>
    tensor.asStrided(tensor.symSizes.slice(0, outer), tensor.symStrides.slice(0, outer));
  const saved = rstd && { mean: flat(mean), rstd: flat(rstd) };
  return { input, out, weight: full(weight), bias: full(bias), outer, eps, center: true, saved };
}

const epsilons: Partial<Record<ScalarType, number>> = {
  float64: 2 ** -52,
  complex128: 2 ** -52,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

export interface RmsNormArgs {
  readonly input: Tensor;
  readonly normalized_shape: readonly number[];
  readonly weight: Tensor | null;
  readonly eps: number | null;
}

export function rmsNormShape(args: RmsNormArgs): TensorMeta {
  checkNormalizedShape({ ...args, bias: null }, '*');
  return { sizes: args.input.symSizes, dtype: args.input.dtype };
}

export function rmsNormalization({ eps, ...args }: RmsNormArgs, [out, rstd]: readonly Tensor[]): Normalization {
  const epsilon = eps ?? epsilons[args.input.dtype] ?? 2 ** -23;
  const plain = trailing({ ...args, bias: null, eps: epsilon }, [out]);
  const saved = rstd && {
    mean: null,
    rstd: rstd.asStrided(rstd.symSizes.slice(0, plain.outer), rstd.symStrides.slice(0, plain.outer)),
  };
  return { ...plain, center: false, saved };
}

interface GroupNormArgs {
  readonly input: Tensor;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly num_groups: number;
  readonly eps: number;
}

export function groupNormShape({ input, weight, bias, num_groups: groups }: GroupNormArgs): TensorMeta {
  check(input.dim >= 2, `Dimension out of range (expected to be in range of [-1, 0], but got 1)`);
  const channels = input.symSizes[1];
  check(groups > 0, () => `Expected num groups to be greater than 0, got ${groups}`);
  check(
    symEq(symMod(channels, groups), 0),
    () =>
      `Expected number of channels in input to be divisible by num_groups, but got input of shape ${sizesText(input.sizes)} and num_groups=${groups}`,
  );
  for (const [name, tensor] of [
    ['weight', weight],
    ['bias', bias],
  ] as const) {
    // PyTorch tells the weight's shape of both.
    check(
      tensor === null || (tensor.dim === 1 && symEq(tensor.symNumel, channels)),
      () =>
        `Expected ${name} to be a vector of size equal to the number of channels in input, but got ${name} of shape ${sizesText((name === 'bias' ? weight : tensor)?.sizes ?? [0])} and input of shape ${sizesText(input.sizes)}`,
    );
  }
  checkParameterDtypes(input, [weight, bias]);
  refuseIntegers('GroupNormKernelImpl', input.dtype);
  return { sizes: input.symSizes, dtype: input.dtype };
}

/** Views `[N, groups, channels of one, positions…]` of everything. */
export function channelGroups(args: GroupNormArgs, out: Tensor): Omit<Normalization, 'saved'> {
  const { input, weight, bias, num_groups: groups, eps } = args;
  const [batch, channels, ...positions] = input.symSizes;
  const own = symFloorDiv(channels, groups);
  const sizes = [batch, groups, own, ...positions];
  const split = (tensor: Tensor): Tensor => reshapeView(tensor, sizes) ?? splitChannels(tensor, sizes);
  const spread = (tensor: Tensor | null): Tensor | null => {
    if (!tensor) return null;
    const [stride] = tensor.symStrides;
    return tensor.asStrided(sizes, [0, symMul(stride, own), stride, ...positions.map(() => 0)]);
  };
  return {
    input: split(input),
    out: split(out),
    weight: spread(weight),
    bias: spread(bias),
    outer: 2,
    eps,
    center: true,
  };
}

/** Splitting one dimension never needs a copy. */
function splitChannels(tensor: Tensor, sizes: readonly SymInt[]): Tensor {
  const [batch, channel, ...rest] = tensor.symStrides;
  return tensor.asStrided(sizes, [batch, symMul(channel, sizes[2]), channel, ...rest]);
}

export interface NativeGroupNormArgs extends Omit<GroupNormArgs, 'num_groups'> {
  readonly N: number;
  readonly C: number;
  readonly HxW: number;
  readonly group: number;
}

export const normalizationRows: readonly OperatorRow[] = [
  normalizationRow<LayerNormArgs>(
    'aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor',
    { shape: layerNormShape, normalization: trailing },
  ),
  normalizationRow<RmsNormArgs>(
    'aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor',
    { shape: rmsNormShape, normalization: rmsNormalization },
  ),
  normalizationRow<GroupNormArgs>(
    'aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor',
    { shape: groupNormShape, normalization: (args, [out]) => channelGroups(args, out) },
  ),
];

export const hasChannelsLast = ({ dim, sizes, strides }: Tensor): boolean =>
  dim > 3 && channelsLastStrides(sizes).every((stride, at) => stride === strides[at] || sizes[at] === 1);

/** A view `[C, N, positions…]`: the groups of a batch norm are its channels. */
export function channelsFirst(tensor: Tensor): Tensor {
  if (tensor.dim < 2) return unsqueezeView(tensor, 1);
  return permuteView(tensor, [1, 0, ...tensor.symSizes.map((_, dim) => dim).slice(2)]);
}
