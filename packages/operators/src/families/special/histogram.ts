import { mapped } from '../../kernels/loops/mapped.ts';
import { repeat, type Pieces, filled } from '../../kernels/loops/pieces.ts';
import { isFloatingPoint, Tensor, type ScalarType, scratch } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import {
  readNumbers,
  writeNumbers,
  type FloatArray,
  storeInPieces,
  numbersInPieces,
} from '../../kernels/numbers/numbers.ts';
import type { OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';

/** Histograms of points with as many coordinates as the last dimension has (ATen/native/Histogram.cpp). */

interface HistogramArgs {
  readonly self: Tensor;
  /** Numbers of bins, or their edges, one for each coordinate or one for all. */
  readonly bins: number | Tensor | readonly number[] | readonly Tensor[];
  readonly range?: readonly number[] | null;
  readonly weight: Tensor | null;
  readonly density: boolean;
}

const scalarNames: Partial<Record<ScalarType, string>> = {
  float32: 'float',
  float64: 'double',
  int64: 'long int',
  int32: 'int',
};
const scalarName = (dtype: ScalarType): string => scalarNames[dtype] ?? dtype;

function checkArguments(self: Tensor, bins: readonly (number | Tensor)[], weight: Tensor | null): void {
  const api = 'torch.histogramdd';
  const coordinates = self.sizes.at(-1)!;
  check(
    bins.length === coordinates,
    'histogramdd: The size of bins must be equal to the innermost dimension of the input.',
  );
  bins.forEach((bin, dim) => {
    if (!(bin instanceof Tensor)) return;
    check(
      bin.dtype === self.dtype,
      `${api}: input tensor and bins tensors should have the same dtype, but got input with dtype ${scalarName(self.dtype)} and bins for dimension ${dim} with dtype ${scalarName(bin.dtype)}`,
    );
    check(
      bin.dim === 1,
      `${api}: bins tensor should have one dimension, but got ${bin.dim} dimensions in the bins tensor for dimension ${dim}`,
    );
    check(
      bin.numel > 0,
      `${api}: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension ${dim}`,
    );
  });
  if (weight) {
    check(
      weight.dtype === self.dtype,
      `${api}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input(${scalarName(self.dtype)}), and weight(${scalarName(weight.dtype)})`,
    );
    const points = self.sizes.slice(0, -1);
    check(
      weight.dim === points.length && points.every((size, dim) => size === weight.sizes[dim]),
      `${api}: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension, but got input with shape ${sizesText(self.sizes)} and weight with shape ${sizesText(weight.sizes)}`,
    );
  }
  bins.forEach((bin, dim) => {
    const count = bin instanceof Tensor ? bin.numel - 1 : bin;
    check(count > 0, `torch.histogram(): bins must be > 0, but got ${count} for dimension ${dim}`);
  });
  // Who makes edges looks at the points' dtype as well: the kernel for their range, or, where there are no points, that for the edges.
  if (bins.some((bin) => typeof bin === 'number')) {
    const isKnown = self.dtype === 'float32' || self.dtype === 'float64';
    if (!isKnown && self.numel > 0) throw notImplementedFor('histogramdd', dtypeName(self.dtype));
    if (self.dtype === 'bool') throw notImplementedFor('linspace_cpu', 'Bool');
  }
  if (!isFloatingPoint(self.dtype)) throw notImplementedFor('histogram_cpu', dtypeName(self.dtype));
}

/** The lowest and highest value of coordinate `dim`, as given or as the points have them; widened where they are equal. */
function* outerEdges(
  points: FloatArray,
  coordinates: number,
  dim: number,
  range: readonly number[] | null | undefined,
): Pieces<[number, number]> {
  let [low, high] = [Infinity, -Infinity];
  if (range) [low, high] = [range[2 * dim], range[2 * dim + 1]];
  else if (points.length === 0) [low, high] = [0, 1];
  else {
    yield* repeat(points.length / coordinates, 8, (point) => {
      const value = points[point * coordinates + dim];
      // A minimum that meets a NaN is one, which comparisons would pass over.
      if (Number.isNaN(value)) [low, high] = [NaN, NaN];
      if (value < low) low = value;
      if (value > high) high = value;
    });
  }
  const text = (value: number): string =>
    Number.isFinite(value) ? String(value) : String(value).replace('Infinity', 'inf').replace('NaN', 'nan');
  check(
    Number.isFinite(low) && Number.isFinite(high),
    `torch.histogramdd: dimension ${dim}'s range [${text(low)}, ${text(high)}] is not finite`,
  );
  check(
    low <= high,
    `torch.histogramdd: min should not exceed max, but got min ${low} max ${high} for dimension ${dim}`,
  );
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** `count` + 1 edges from `low` to `high` at equal distances, counted from the nearer end as `linspace` does. */
function equalEdges(low: number, high: number, count: number, dtype: ScalarType): Tensor {
  const round = dtype === 'float32' ? Math.fround : (value: number): number => value;
  const step = round((high - low) / count);
  const edges = Tensor.empty([count + 1], dtype);
  const half = Math.floor((count + 1) / 2);
  writeNumbers(
    edges,
    Array.from({ length: count + 1 }, (_, i) => round(i < half ? low + step * i : high - step * (count - i))),
  );
  return edges;
}

/** The bin of a value, the last one taking its right edge too; -1 where it is in none. */
function binOf(edges: ArrayLike<number>, value: number): number {
  const last = edges.length - 1;
  if (!(value >= edges[0] && value <= edges[last])) return -1;
  let [low, high] = [0, last];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (value >= edges[middle]) low = middle;
    else high = middle;
  }
  return value === edges[last] ? last - 1 : low;
}

function* histogramOf({
  self,
  bins,
  range,
  weight,
  density,
}: HistogramArgs): Pieces<{ hist: Tensor; edges: Tensor[] }> {
  check(self.dim >= 2, 'torch.histogramdd: input tensor should have at least 2 dimensions');
  const coordinates = self.sizes.at(-1)!;
  const each = (Array.isArray(bins) ? bins : new Array(coordinates).fill(bins)) as readonly (number | Tensor)[];
  checkArguments(self, each, weight);
  check(
    !range || range.length === 2 * coordinates,
    () =>
      `torch.histogramdd: for a ${coordinates}-dimensional histogram range should have ${2 * coordinates} elements, but got ${range!.length}`,
  );
  const points = yield* numbersInPieces(self);
  const edges = yield* mapped(each, function* (bin, dim) {
    if (bin instanceof Tensor) return bin;
    return equalEdges(...(yield* outerEdges(points, coordinates, dim, range)), bin, self.dtype);
  });
  const edgeNumbers = edges.map(readNumbers);
  const sizes = edges.map((edge) => edge.numel - 1);
  const weights = weight && (yield* numbersInPieces(weight));
  const values = scratch(
    Float64Array,
    sizes.reduce((product, size) => product * size, 1),
  );
  const count = coordinates === 0 ? 0 : points.length / coordinates;
  yield* repeat(count, 32 * coordinates, (i) => {
    let at = 0;
    for (let dim = 0; dim < coordinates && at >= 0; dim++) {
      const bin = binOf(edgeNumbers[dim], points[i * coordinates + dim]);
      at = bin < 0 ? -1 : at * sizes[dim] + bin;
    }
    if (at >= 0) values[at] += weights ? weights[i] : 1;
  });
  if (density) yield* toDensity(values, sizes, edgeNumbers);
  const hist = Tensor.empty(sizes, self.dtype);
  yield* storeInPieces(hist, values);
  return { hist, edges };
}

/** Divides by the total and by the volume of each bin, so that the integral is one. */
function* toDensity(values: Float64Array, sizes: readonly number[], edges: readonly ArrayLike<number>[]): Pieces {
  let total = 0;
  yield* repeat(values.length, 1, (at) => void (total += values[at]));
  yield* filled(values, 16, (at) => {
    let volume = 1;
    for (let dim = sizes.length - 1, left = at; dim >= 0; dim--) {
      const bin = left % sizes[dim];
      left = Math.floor(left / sizes[dim]);
      volume *= edges[dim][bin + 1] - edges[dim][bin];
    }
    return values[at] / total / volume;
  });
}

/** Every element of the tensor as a point with one coordinate. */
function flattened(args: HistogramArgs): HistogramArgs {
  const flat = (tensor: Tensor, sizes: readonly number[]): Tensor =>
    Tensor.fromArray(tensor.contiguousArray(), sizes, tensor.dtype);
  const { self, bins, weight } = args;
  return {
    ...args,
    self: flat(self, [self.numel, 1]),
    bins: [bins] as readonly number[] | readonly Tensor[],
    weight: weight && flat(weight, [weight.numel]),
  };
}

const ofElements = (schema: string, out: string): OperatorRow =>
  kernel<HistogramArgs>(schema, {
    out,
    *host(args) {
      const { hist, edges } = yield* histogramOf(flattened(args));
      return [hist, edges[0]];
    },
  });

const ofPoints = (schema: string): OperatorRow =>
  kernel<HistogramArgs>(schema, {
    *host(args) {
      const { hist, edges } = yield* histogramOf(args);
      return [hist, edges];
    },
  });

export const histogramRows: readonly OperatorRow[] = [
  ofElements(
    'aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)',
    'bins_tensor_out(hist, bin_edges)',
  ),
  ofElements(
    'aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)',
    'bin_ct_out(hist, bin_edges)',
  ),
  ofPoints(
    'aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)',
  ),
  ofPoints(
    'aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)',
  ),
  ofPoints(
    'aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)',
  ),
];
