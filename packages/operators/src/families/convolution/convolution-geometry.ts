import { symAdd, symEq, symFloorDiv, symGe, symMul, symSub, textOf, type SymInt, type Tensor } from '@cresset/tensor';
import { sizesText } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { cppTypeName } from '../../kernels/type-names.ts';

/** The arguments of `aten::convolution`, to which all others come down; lists have one number a spatial dimension. */
export interface ConvolutionArgs {
  readonly input: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly transposed: boolean;
  readonly output_padding: readonly number[];
  readonly groups: number;
  /** The input is compared with the bias before the weight. */
  readonly biasFirst?: boolean;
}

/** A convolution's sizes, ready to be computed: `input` is batched. */
export interface Convolution extends ConvolutionArgs {
  /** Input and output channels of one group. */
  readonly inChannels: number;
  readonly outChannels: number;
  readonly kernel: readonly number[];
  /** Spatial sizes. */
  readonly inputSize: readonly SymInt[];
  readonly outputSize: readonly SymInt[];
}

/** One number a dimension from a list that may have just one for all (expand_param_if_needed). */
export function expandParameter(values: readonly number[], name: string, rank: number): readonly number[] {
  if (values.length === 1 && rank !== 1) return new Array<number>(rank).fill(values[0]);
  check(
    values.length === rank,
    () =>
      `expected ${name} to be a single integer value or a list of ${rank} values to match the convolution dimensions, but got ${name}=${sizesText(values)}`,
  );
  return values;
}

/** Sizes of a convolution whose arguments fit; throws PyTorch's error where they do not (check_shape_forward). */
export function convolutionOf(args: ConvolutionArgs): Convolution {
  const { input, weight, bias, transposed, groups } = args;
  checkDtypes(args);
  const rank = weight.dim - 2;
  check(rank > 0, 'weight should have at least three dimensions');
  check(groups > 0, 'non-positive groups is not supported');
  const stride = expandParameter(args.stride, 'stride', rank);
  const padding = expandParameter(args.padding, 'padding', rank);
  const dilation = expandParameter(args.dilation, 'dilation', rank);
  const outputPadding = transposed ? expandParameter(args.output_padding, 'output_padding', rank) : args.output_padding;
  check(
    padding.every((value) => value >= 0),
    'negative padding is not supported',
  );
  check(
    outputPadding.every((value) => value >= 0),
    'negative output_padding is not supported',
  );
  check(
    stride.every((value) => value > 0),
    'non-positive stride is not supported',
  );
  check(
    dilation.every((value) => value > 0),
    () => `dilation should be greater than zero, but got ${sizesText(dilation)}`,
  );
  const weightText = (): string => sizesText(weight.sizes);
  check(
    input.dim === weight.dim,
    () =>
      `Expected ${weight.dim}-dimensional input for ${weight.dim}-dimensional weight ${weightText()}, but got ${input.dim}-dimensional input of size ${sizesText(input.sizes)} instead`,
  );
  check(
    weight.sizes[0] >= groups,
    () =>
      `Given groups=${groups}, expected weight to be at least ${groups} at dimension 0, but got weight of size ${weightText()} instead`,
  );
  check(
    weight.sizes[0] % groups === 0,
    () =>
      `Given groups=${groups}, expected weight to be divisible by ${groups} at dimension 0, but got weight of size [${weightText()}] instead`,
  );
  const [inChannels, outChannels] = transposed
    ? [weight.sizes[0] / groups, weight.sizes[1]]
    : [weight.sizes[1], weight.sizes[0] / groups];
  check(
    symEq(input.symSizes[1], inChannels * groups),
    () =>
      `Given ${transposed ? 'transposed=1' : `groups=${groups}`}, weight of size ${weightText()}, expected input${sizesText(input.sizes)} to have ${inChannels * groups} channels, but got ${input.sizes[1]} channels instead`,
  );
  check(
    bias === null || (bias.dim === 1 && bias.sizes[0] === outChannels * groups),
    () =>
      `Given ${transposed ? 'transposed=1, ' : ''}weight of size ${weightText()}, expected bias to be 1-dimensional with ${outChannels * groups} elements, but got bias of size ${sizesText(bias!.sizes)} instead`,
  );
  const kernel = weight.sizes.slice(2);
  const inputSize = input.symSizes.slice(2);
  const full = {
    ...args,
    stride,
    padding,
    dilation,
    output_padding: outputPadding,
    inChannels,
    outChannels,
    kernel,
    inputSize,
  };
  const outputSize = transposed ? transposedOutputSize(full) : forwardOutputSize(full);
  // Where `same` needs an odd number, the padding in front is the smaller half.
  return { ...full, outputSize, padding: padding.map(Math.floor) };
}

function checkDtypes({ input, weight, bias, biasFirst = false }: ConvolutionArgs): void {
  const { dtype } = input;
  check(
    !biasFirst || bias === null || dtype === bias.dtype,
    () => `Input type (${cppTypeName(dtype)}) and bias type (${cppTypeName(bias!.dtype)}) should be the same`,
  );
  for (const other of [weight, bias]) {
    check(
      other === null || dtype === other.dtype,
      () => `expected scalar type ${dtypeName(dtype)} but found ${dtypeName(other!.dtype)}`,
    );
  }
}

type Sizes = Omit<Convolution, 'outputSize'>;

function forwardOutputSize({ inputSize, kernel, stride, padding, dilation }: Sizes): SymInt[] {
  const extent = kernel.map((size, dim) => dilation[dim] * (size - 1) + 1);
  const padded = inputSize.map((size, dim) => symAdd(size, 2 * padding[dim]));
  check(
    padded.every((size, dim) => symGe(size, extent[dim])),
    () =>
      `Calculated padded input size per channel: (${padded.map(textOf).join(' x ')}). Kernel size: (${extent.join(' x ')}). Kernel size can't be greater than actual input size`,
  );
  return padded.map((size, dim) => symAdd(symFloorDiv(symSub(size, extent[dim]), stride[dim]), 1));
}

function transposedOutputSize({
  inputSize,
  kernel,
  stride,
  padding,
  dilation,
  output_padding: extra,
}: Sizes): SymInt[] {
  const names = ['depth', 'height', 'width'].slice(-Math.max(kernel.length, 2));
  const listed = (prefix: string, values: readonly number[]): string => {
    const all = values.length === 1 ? [prefix === 'output_padding' ? 0 : 1, ...values] : values;
    return names.map((name, dim) => `${prefix}_${name}: ${all[dim]}`).join(' ');
  };
  check(
    extra.every((value, dim) => value < stride[dim] || value < dilation[dim]),
    () =>
      `output padding must be smaller than either stride or dilation, but got ${listed('output_padding', extra)} ${listed('stride', stride)} ${listed('dilation', dilation)}`,
  );
  const sizes = inputSize.map((size, dim) =>
    symAdd(symMul(symSub(size, 1), stride[dim]), dilation[dim] * (kernel[dim] - 1) + extra[dim] + 1 - 2 * padding[dim]),
  );
  check(
    sizes.every((size) => symGe(size, 1)),
    () =>
      `Given input size per channel: (${inputSize.map(textOf).join(' x ')}). Calculated output size per channel: (${sizes.map(textOf).join(' x ')}). Output size is too small`,
  );
  return sizes;
}
