import { inRuns, type Pieces } from '../../kernels/loops/pieces.ts';
import { settle, symEq, symProduct, type ScalarType, type Tensor, scratch } from '@cresset/tensor';
import { axis, reduce, TensorView, unary, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { lowerFill } from '../../kernels/fill.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { LoweringContext } from '../../table/row.ts';
import { add, div, floatParam, mul, roundedTo, sub } from '../../kernels/expressions.ts';
import {
  fillInPieces,
  stridedNumbers,
  type FloatArray,
  numbersInPieces,
  storeInPieces,
} from '../../kernels/numbers/numbers.ts';
import { joinDimensions, offsetsOf, type Offsets } from '../../kernels/views.ts';

/**
 * What all normalisations are: the elements of a tensor in groups, each brought to mean 0 and variance 1, then scaled and
 * shifted. All tensors are views of the same sizes: first the dimensions that number the groups, then those within one.
 */
export interface Normalization {
  readonly input: Tensor;
  readonly out: Tensor;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  /** How many dimensions number the groups. */
  readonly outer: number;
  readonly eps: number;
  /** Whether the mean is taken off; a root mean square norm does not. */
  readonly center: boolean;
  /** Given mean and variance of each group (sizes of the outer dimensions); else they are those of the elements. */
  readonly given?: { readonly mean: Tensor; readonly variance: Tensor };
  /** Filled with each group's mean and 1/√(variance + eps). */
  readonly saved?: { readonly mean: Tensor | null; readonly rstd: Tensor };
  /** What mean and 1/√(variance + eps) are rounded to before they are used. */
  readonly statisticsDtype?: ScalarType;
  /** Whether the moments themselves are worked out in bfloat16. */
  readonly bfloatMoments?: boolean;
  /** Moved towards each group's mean and unbiased variance; of the sizes of the outer dimensions. */
  readonly running?: { readonly mean: Tensor; readonly variance: Tensor; readonly momentum: number };
}

/** Mean and (biased) variance of every group. */
export interface Moments {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
  /** The unbiased variance. */
  readonly unbiased: Float64Array;
  readonly count: number;
}

export function* hostNormalize(normalization: Normalization): Pieces<Moments> {
  const { input, out, weight, bias, outer, eps, given, saved, running, statisticsDtype = 'float64' } = normalization;
  const moments = given
    ? {
        mean: Float64Array.from(yield* numbersInPieces(given.mean)),
        variance: Float64Array.from(yield* numbersInPieces(given.variance)),
        unbiased: new Float64Array(),
        count: 0,
      }
    : yield* momentsOf(normalization);
  const round = roundingTo(statisticsDtype);
  const mean = moments.mean.map(round);
  const rstd = moments.variance.map((value) => round(1 / Math.sqrt(value + eps)));
  const x = yield* reader(input, outer);
  const scale = weight && (yield* reader(weight, outer));
  const shift = bias && (yield* reader(bias, outer));
  const inner = x.inner.length;
  yield* fillInPieces(out, (values) =>
    inRuns(mean.length, inner, 4, (group, start, end) =>
      normalizeRun(values, group, mean[group], rstd[group], x, scale, shift, start, end),
    ),
  );
  if (saved) {
    if (saved.mean) yield* storeInPieces(saved.mean, mean);
    yield* storeInPieces(saved.rstd, rstd);
  }
  if (running) yield* updateRunning(running, moments);
  return moments;
}

/** Elements `start` to `end` of a group. */
function normalizeRun(
  values: FloatArray,
  group: number,
  mean: number,
  rstd: number,
  x: GroupReader,
  scale: GroupReader | null,
  shift: GroupReader | null,
  start: number,
  end: number,
): void {
  const inner = x.inner.length;
  const to = group * inner;
  const from = x.outer[group];
  for (let i = start; i < end; i++) {
    let value = (x.data[from + x.inner[i]] - mean) * rstd;
    if (scale) value *= scale.data[scale.outer[group] + scale.inner[i]];
    if (shift) value += shift.data[shift.outer[group] + shift.inner[i]];
    values[to + i] = value;
  }
}

/** Elements of a tensor by their group and their place in it. */
interface GroupReader {
  readonly data: FloatArray;
  readonly outer: Offsets;
  readonly inner: Offsets;
}

function* reader(tensor: Tensor, outer: number): Pieces<GroupReader> {
  const { data, offset, strides } = yield* stridedNumbers(tensor);
  return {
    data,
    outer: offsetsOf(tensor.sizes.slice(0, outer), strides.slice(0, outer), offset),
    inner: offsetsOf(tensor.sizes.slice(outer), strides.slice(outer)),
  };
}

function* momentsOf({ input, outer, center, bfloatMoments = false }: Normalization): Pieces<Moments> {
  const x = yield* reader(input, outer);
  const count = x.inner.length;
  // PyTorch adds up squares in float32 for all that is no double: they may be too large for that, and all elements become 0.
  const isDouble = input.dtype === 'float64';
  const mean = scratch(Float64Array, x.outer.length);
  const sums = scratch(Float64Array, x.outer.length);
  if (center) {
    yield* inRuns(mean.length, count, 2, (group, start, end) => {
      const base = x.outer[group];
      let sum = mean[group];
      for (let i = start; i < end; i++) sum += x.data[base + x.inner[i]];
      mean[group] = end === count && count > 0 ? sum / count : sum;
    });
  }
  yield* inRuns(mean.length, count, 2, (group, start, end) => {
    const base = x.outer[group];
    const middle = mean[group];
    let squares = sums[group];
    for (let i = start; i < end; i++) {
      const distance = x.data[base + x.inner[i]] - middle;
      squares += distance * distance;
    }
    sums[group] = end === count && !isDouble && Math.fround(squares) === Infinity ? Infinity : squares;
  });
  const round = roundingTo(bfloatMoments ? 'bfloat16' : 'float64');
  const over = (divisor: number): Float64Array => sums.map((sum) => round(round(sum) / round(divisor)));
  return { mean: mean.map(round), variance: over(count), unbiased: over(count - 1), count };
}

function* updateRunning(running: NonNullable<Normalization['running']>, { mean, unbiased }: Moments): Pieces {
  const { momentum } = running;
  const blend = (old: FloatArray, fresh: Float64Array): Float64Array =>
    Float64Array.from(old, (value, i) => (1 - momentum) * value + momentum * fresh[i]);
  yield* storeInPieces(running.mean, blend(yield* numbersInPieces(running.mean), mean));
  yield* storeInPieces(running.variance, blend(yield* numbersInPieces(running.variance), unbiased));
}

/** One kernel: reductions a group, and the elements stored over the inner axes. */
export function lowerNormalize(label: string, normalization: Normalization, context: LoweringContext): void {
  const { outer, eps, given, saved, running, center, statisticsDtype, bfloatMoments } = normalization;
  if (symEq(normalization.out.symNumel, 0)) {
    // Groups of no elements have a mean of 0, and no variance.
    if (saved?.mean?.numel) lowerFill(saved.mean, 0n, context, label);
    if (saved?.rstd.numel) lowerFill(saved.rstd, NaN, context, label);
    return;
  }
  const count = symProduct(normalization.input.symSizes.slice(outer));
  const { input, out, weight, bias } = joinInner(normalization);
  const x = new TensorView(input);
  const target = new TensorView(out);
  const all = target.axes();
  const axes = all.slice(0, outer);
  const inner = all.slice(outer);
  const size = floatParam(count);
  const epsilon = floatParam(eps);
  const moment = (value: Expr): Expr => (bfloatMoments ? roundedTo('bfloat16', value) : value);
  const statistic = (value: Expr): Expr => roundedTo(statisticsDtype, value);
  const reducedAxes = (): AxisExpr[] => inner.map((own) => axis(`r${own.name}`, own.extent));
  const sum = (value: (element: Expr) => Expr, reduced = reducedAxes()): Expr =>
    reduce('sum', reduced, value(x.at([...axes, ...reduced])));
  const first =
    given || !center
      ? null
      : div(
          sum((element) => element),
          size,
        );
  const distance = (element: Expr): Expr => (first ? sub(element, first) : element);
  const again = reducedAxes();
  // Rounding has moved the mean off by so much: of equal elements, by more than eps hides.
  const off = first && div(sum(distance, again), size);
  const middle = off && add(first, off);
  const distances = sum((element) => mul(distance(element), distance(element)), again);
  const squares = moment(off ? sub(distances, mul(size, mul(off, off))) : distances);
  const over = (divisor: Expr): Expr => moment(div(squares, moment(divisor)));
  const groupMean = given ? new TensorView(given.mean).at(axes) : middle && moment(middle);
  const variance = given ? new TensorView(given.variance).at(axes) : over(size);
  const mean = groupMean && statistic(groupMean);
  const centred = (element: Expr): Expr => (mean ? sub(element, mean) : element);
  const rstd = statistic(unary('rsqrt', add(variance, epsilon)));
  let value = mul(centred(x.at(all)), rstd);
  if (weight) value = mul(value, new TensorView(weight).at(all));
  if (bias) value = add(value, new TensorView(bias).at(all));
  const stores = [{ operand: target.operand, offset: target.offsetAt(all), value }];
  const store = (tensor: Tensor, stored: Expr): void => {
    const view = new TensorView(tensor);
    stores.push({ operand: view.operand, offset: view.offsetAt(axes), value: stored });
  };
  if (saved?.mean && mean) store(saved.mean, mean);
  if (saved) store(saved.rstd, rstd);
  if (running && mean) {
    const momentum = floatParam(running.momentum);
    const kept = floatParam(1 - running.momentum);
    const blend = (tensor: Tensor, fresh: Expr): void =>
      store(tensor, add(mul(kept, new TensorView(tensor).at(axes)), mul(momentum, fresh)));
    blend(running.mean, groupMean!);
    const elements = settle(count);
    blend(
      running.variance,
      bfloatMoments ? over(floatParam(elements - 1)) : mul(variance, floatParam(elements / (elements - 1))),
    );
  }
  const [nestAxes, innerAxes] = given && !saved ? [all, []] : [axes, inner];
  context.launch({ kind: 'nest', label, axes: nestAxes, innerAxes, stores });
}

function joinInner({
  input,
  out,
  weight,
  bias,
  outer,
}: Normalization): Pick<Normalization, 'input' | 'out' | 'weight' | 'bias'> {
  const present = [input, out, weight, bias].filter((tensor) => tensor !== null);
  const joined = joinDimensions(present, outer, input.dim);
  const [x, y, ...rest] = joined;
  return { input: x, out: y, weight: weight && rest.shift()!, bias: bias && rest.shift()! };
}
