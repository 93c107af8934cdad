import {
  isFloatingPoint,
  numelOf,
  type Tensor,
  symAdd,
  symEq,
  symFloorDiv,
  symGe,
  symLt,
  symMul,
  symProduct,
  symSub,
  type SymInt,
} from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  reduce,
  TensorView,
  type Expr,
} from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import type { Convolution } from './convolution-geometry.ts';
import { add, index, indexParam, mul, sub, where, within } from '../../kernels/expressions.ts';
import { indexOf, lowerProduct } from '../products/product-lowering.ts';
import { reshapeView } from '../../kernels/views.ts';

/**
 * Describes a convolution to a device: one product a group of filters (`[out channels, in channels × kernel]`) with input
 * elements gathered by their position. Kernel, stride and dilation are part of the kernel's structure (divisions by them
 * are by constants), sizes and padding are not. Where a transposed one has no overlaps, each element of its filters is a row,
 * which is stored apart from the others.
 */
export function lowerConvolution(label: string, convolution: Convolution, out: Tensor, context: LoweringContext): void {
  if (symEq(out.symNumel, 0)) return;
  const phases = context.device.capabilities.host ? phasesOf(convolution, out) : [];
  if (phases.length > 0) {
    for (const phase of phases) lowerConvolution(label, phase.convolution, phase.out, context);
    return;
  }
  if (isMatrixProduct(convolution) && lowerPointwise(label, convolution, out, context)) return;
  const { groups, inChannels, outChannels, kernel, transposed, stride } = convolution;
  const type = exprTypeOf(out.dtype);
  const target = new TensorView(out);
  const input = new TensorView(convolution.input);
  const weight = new TensorView(convolution.weight);
  const bias = convolution.bias && new TensorView(convolution.bias);
  const isSpread = spreads(convolution);

  const batch = axis('b', target.sizes[0]);
  const group = groups === 1 ? null : axis('g', indexParam(groups));
  const taps = kernel.map(index);
  const rows = indexOf('m', [indexParam(outChannels), ...(isSpread ? taps : [])]);
  const [filter, ...spread] = rows.index;
  const position = indexOf('n', (isSpread ? input : target).sizes.slice(2));
  const place = isSpread
    ? position.index.map((own, dim) => add(mul(own, index(stride[dim])), spread[dim]))
    : position.index;
  const inGroup = (channel: Expr, channels: number): Expr =>
    group ? add(mul(group, indexParam(channels)), channel) : channel;
  const outChannel = inGroup(filter, outChannels);
  const gather = (channel: Expr, tap: readonly Expr[]): Expr => {
    const sizes = input.sizes.slice(2);
    const { index: at, conditions } = isSpread
      ? { index: position.index, conditions: [] }
      : transposed
        ? transposedPosition(convolution, position.index, tap, sizes)
        : windowPosition(convolution, position.index, tap, sizes, overruns(convolution));
    const element = cast(type, input.at([batch, inGroup(channel, inChannels), ...at]));
    return where(conditions, element, constant(type, type === 'i64' ? 0n : 0));
  };
  const filterElement = (channel: Expr, tap: readonly Expr[]): Expr =>
    cast(
      type,
      weight.at(transposed ? [inGroup(channel, inChannels), filter, ...tap, ...spread] : [outChannel, channel, ...tap]),
    );
  // Positions that lie like one dimension need no index in each: what comes after goes over them in the same way.
  const flat = isSpread ? null : reshapeView(out, [...out.symSizes.slice(0, 2), symProduct(out.symSizes.slice(2))]);
  const offset = flat
    ? new TensorView(flat).offsetAt([batch, outChannel, position.axis])
    : target.offsetAt([batch, outChannel, ...place]);
  const finish = (sum: Expr): Expr => (bias ? binary('add', sum, cast(type, bias.at([outChannel]))) : sum);
  const outer = group ? [batch, group] : [batch];
  const summed = [indexParam(inChannels), ...(isSpread ? [] : taps)];

  const { host, hardware } = context.device.capabilities;
  // Of few filters too a GPU's threads share sums, where these are long.
  const isShared = hardware && inChannels * numelOf(kernel) >= 32;
  if ((symLt(rows.count, 4) && !host && !isShared) || !isFloatingPoint(out.dtype)) {
    // Too few filters for threads to share input elements between (depthwise), or sums that are not float.
    const [channel, ...tap] = summed.map((size, at) => axis(at === 0 ? 'c' : `k${at - 1}`, size));
    const sum = reduce('sum', [channel, ...tap], binary('mul', filterElement(channel, tap), gather(channel, tap)));
    const axes = [...outer, rows.axis, position.axis];
    const stores = [{ operand: target.operand, offset, value: finish(sum) }];
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
    return;
  }
  const inner = indexOf('k', summed);
  const [channel, ...tap] = inner.index;
  context.launch({
    kind: 'contraction',
    label,
    batch: outer,
    m: rows.axis,
    n: position.axis,
    k: inner.axis,
    left: filterElement(channel, tap),
    right: gather(channel, tap),
    stores: [{ operand: target.operand, offset, value: finish(accumulator) }],
  });
}

/** Whether each output element of a transposed convolution comes of one input element alone, and none of no element at all. */
function spreads({ transposed, kernel, stride, padding, dilation, inputSize, outputSize }: Convolution): boolean {
  return (
    transposed &&
    kernel.every((size, dim) => size === stride[dim] && (size === 1 || dilation[dim] === 1)) &&
    padding.every((size) => size === 0) &&
    outputSize.every((size, dim) => symEq(size, symMul(inputSize[dim], stride[dim])))
  );
}

/** Multiplications below which launches of their own cost more than those by zero do. */
const LEAST_WORK = 1 << 18;

/**
 * A transposed convolution as one for each place that results may have between two elements of its input, as far as these are apart: elements of the
 * filters that fall on an input element there are every `stride`th, and nothing is multiplied by what is no input. None where that is one already.
 *
 *     stride 2, filters a b c      results 0 2 4 …: a and c      results 1 3 5 …: b
 */
function phasesOf(convolution: Convolution, out: Tensor): { convolution: Convolution; out: Tensor }[] {
  const { weight, kernel, stride, padding, dilation, transposed, inChannels, outputSize } = convolution;
  const isApart =
    transposed &&
    stride.some((step) => step > 1) &&
    kernel.every((size, dim) => size >= stride[dim] && symGe(outputSize[dim], stride[dim]) && dilation[dim] === 1) &&
    !spreads(convolution) &&
    symGe(symMul(out.symNumel, inChannels * numelOf(kernel)), LEAST_WORK);
  if (!isApart) return [];
  const places = stride.reduce<number[][]>(
    (all, step) => all.flatMap((place) => Array.from({ length: step }, (_, at) => [...place, at])),
    [[]],
  );
  return places.map((place) => {
    const first = place.map((own, dim) => (own + padding[dim]) % stride[dim]);
    const taps = everyNth(weight, first, stride);
    const results = everyNth(out, place, stride);
    return {
      convolution: {
        ...convolution,
        weight: taps,
        kernel: taps.sizes.slice(2),
        stride: stride.map(() => 1),
        padding: place.map((own, dim) => Math.floor((own + padding[dim]) / stride[dim])),
        output_padding: stride.map(() => 0),
        outputSize: results.symSizes.slice(2),
      },
      out: results,
    };
  });
}

/** Elements of planes from `first` on, `steps` apart. */
function everyNth(tensor: Tensor, first: readonly number[], steps: readonly number[]): Tensor {
  const { symSizes, symStrides, symStorageOffset } = tensor;
  const sizes = symSizes.map((size, dim) =>
    dim < 2 ? size : symFloorDiv(symAdd(size, steps[dim - 2] - 1 - first[dim - 2]), steps[dim - 2]),
  );
  const strides = symStrides.map((stride, dim) => (dim < 2 ? stride : symMul(stride, steps[dim - 2])));
  const begin = first.reduce<SymInt>((sum, at, dim) => symAdd(sum, symMul(symStrides[dim + 2], at)), symStorageOffset);
  return tensor.asStrided(sizes, strides, begin);
}

/** Whether windows go beyond the end of an input that nothing is in front of: where `same` needs one more behind than in front. */
function overruns({ kernel, stride, padding, dilation, inputSize, outputSize }: Convolution): boolean {
  return kernel.some((size, dim) => {
    if (padding[dim] !== 0) return false;
    const last = symAdd(symMul(symSub(outputSize[dim], 1), stride[dim]), (size - 1) * dilation[dim]);
    return symGe(last, inputSize[dim]);
  });
}

/** Where in the input a kernel element falls, and what must hold for it to be inside. */
interface Gathered {
  readonly index: readonly Expr[];
  readonly conditions: readonly Expr[];
}

/** What places windows on an input: convolutions and pools alike. */
export interface Windows {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** `o·stride + k·dilation − padding`; only where there is padding it may lie outside. */
export function windowPosition(
  { stride, padding, dilation }: Windows,
  output: readonly Expr[],
  tap: readonly Expr[],
  sizes: readonly Expr[],
  mayOverrun = false,
): Gathered {
  const conditions: Expr[] = [];
  const at = output.map((position, dim) => {
    const place = add(mul(position, index(stride[dim])), mul(tap[dim], index(dilation[dim])));
    if (padding[dim] === 0 && !mayOverrun) return place;
    const shifted = padding[dim] === 0 ? place : sub(place, indexParam(padding[dim]));
    conditions.push(within(shifted, sizes[dim]));
    return shifted;
  });
  return { index: at, conditions };
}

/** The input element that falls on output `o` by kernel element `k`: `(o + padding − k·dilation) / stride`, if whole. */
function transposedPosition(
  { stride, padding, dilation }: Windows,
  output: readonly Expr[],
  tap: readonly Expr[],
  sizes: readonly Expr[],
): Gathered {
  const conditions: Expr[] = [];
  const at = output.map((position, dim) => {
    const moved = sub(add(position, indexParam(padding[dim])), mul(tap[dim], index(dilation[dim])));
    const place = binary('truncdiv', moved, index(stride[dim]));
    conditions.push(binary('ge', moved, index(0)));
    if (stride[dim] !== 1) conditions.push(binary('eq', binary('fmod', moved, index(stride[dim])), index(0)));
    conditions.push(binary('lt', place, sizes[dim]));
    return place;
  });
  return { index: at, conditions };
}

function isMatrixProduct({ kernel, stride, padding, groups, transposed }: Convolution): boolean {
  return (
    groups === 1 &&
    !transposed &&
    kernel.every((size) => size === 1) &&
    stride.every((step) => step === 1) &&
    padding.every((size) => size === 0)
  );
}

/** A 1×1 convolution over input whose positions lie like one dimension is a plain product. */
function lowerPointwise(
  label: string,
  { input, weight, bias }: Convolution,
  out: Tensor,
  context: LoweringContext,
): boolean {
  const [batch, channels, ...places] = input.symSizes;
  const filters = weight.sizes[0];
  const positions = symProduct(places);
  const right = reshapeView(input, [batch, channels, positions]);
  const matrix = reshapeView(weight, [filters, channels]);
  const target = reshapeView(out, [batch, filters, positions]);
  if (!right || !matrix || !target) return false;
  const left = matrix.asStrided([batch, filters, channels], [0, ...matrix.symStrides]);
  const biasView = bias && new TensorView(bias);
  const type = exprTypeOf(out.dtype);
  lowerProduct(label, { left, right, out: target }, context, undefined, (sum, [, filter]) =>
    biasView ? binary('add', sum, cast(type, biasView.at([filter]))) : sum,
  );
  return true;
}
