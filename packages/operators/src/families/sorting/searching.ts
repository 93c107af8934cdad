import { repeat, type Pieces, filled } from '../../kernels/loops/pieces.ts';
import { positionsFor } from '../../kernels/positions.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import { symSame, Complex, isComplex, isFloatingPoint, scratch, Tensor, type ScalarType } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { copyInto, contiguousInPieces, convertedPieces, lowerCopy } from '../../kernels/copy.ts';
import { sizesText, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { readScalar } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { numbersInPieces, type FloatArray } from '../../kernels/numbers/numbers.ts';
import { writeInPieces } from '../../kernels/fill.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import { dtypeName, resultType, scalarDtype } from '../../kernels/type-promotion.ts';
import { deviceUnique, lowerIsIn, lowerSearch } from './search-lowering.ts';
import { stableOrder } from './sort.ts';
import { movedim, select } from '../views/view-functions.ts';

/** Looking for values among values (ATen/native/Bucketization.cpp, Unique.cpp, TensorCompare.cpp, Histogram.cpp). */

interface Search {
  readonly sorted_sequence: Tensor;
  readonly self: Tensor | Scalar;
  readonly out_int32: boolean;
  readonly right: boolean;
  readonly side?: string | null;
  readonly sorter?: Tensor | null;
}

/** How many elements of an ascending row come before `value`, equal ones included where `right` is set. NaN is largest. */
function placeOf(row: FloatArray, order: FloatArray | null, value: number, right: boolean): number {
  let low = 0;
  let high = row.length;
  const comesBefore = (element: number): boolean => {
    if (Number.isNaN(value)) return right || !Number.isNaN(element);
    return right ? element <= value : element < value;
  };
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comesBefore(row[order ? order[middle] : middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function searchMeta({ sorted_sequence: sorted, self, out_int32: narrow, right, side, sorter }: Search): TensorMeta {
  check(
    side === null || side === undefined || side === 'left' || side === 'right',
    `torch.searchsorted(): side can only be 'left' or 'right' but got ${side}`,
  );
  check(
    !(right && side === 'left'),
    "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
  );
  const dtype: ScalarType = narrow ? 'int32' : 'int64';
  if (!(self instanceof Tensor)) {
    check(
      sorted.dim === 1,
      `torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(${sorted.dim}) and input value's dim(0) numel(1)`,
    );
    return { sizes: [], dtype };
  }
  check(
    self.dim > 0 || sorted.dim === 1,
    () =>
      `torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(${sorted.dim}) and input value's dim(${self.dim}) numel(${self.numel})`,
  );
  check(
    sorted.dim === 1 || (sorted.dim === self.dim && symSame(sorted.symSizes.slice(0, -1), self.symSizes.slice(0, -1))),
    () =>
      `torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries tensor ${sizesText(sorted.sizes)} and input value tensor ${sizesText(self.sizes)}`,
  );
  if (sorter)
    check(
      symSame(sorter.symSizes, sorted.symSizes),
      'torch.searchsorted(): boundary and sorter must have the same size',
    );
  return { sizes: self.symSizes, dtype };
}

function* runSearch({ sorted_sequence: sorted, self, right, side, sorter }: Search, output: Tensor): Pieces {
  const dtype = resultType([sorted, self]);
  const sequence = yield* numbersInPieces(yield* convertedPieces(sorted, dtype));
  const order = sorter ? yield* numbersInPieces(sorter) : null;
  const values =
    self instanceof Tensor
      ? yield* numbersInPieces(yield* convertedPieces(self, dtype))
      : Float64Array.of(roundingTo(dtype)(Number(self)));
  const length = sorted.sizes.at(-1) ?? 1;
  const perRow = sorted.dim === 1 ? values.length : (self as Tensor).sizes.at(-1)!;
  const isRight = right || side === 'right';
  const valueAt = (at: number): number => {
    const start = sorted.dim === 1 ? 0 : Math.floor(at / perRow) * length;
    return placeOf(
      sequence.subarray(start, start + length),
      order?.subarray(start, start + length) ?? null,
      values[at],
      isRight,
    );
  };
  yield* writeInPieces(output, valueAt, 32);
}

function lowerSearchRow(
  { sorted_sequence: sorted, self, right, side, sorter }: Search,
  [output]: readonly Tensor[],
  context: LoweringContext,
): void {
  const dtype = resultType([sorted, self]);
  const converted = (tensor: Tensor): Tensor => {
    if (tensor.dtype === dtype) return tensor;
    const target = context.temporary(tensor.symSizes, dtype);
    lowerCopy(target, tensor, context, 'aten::searchsorted');
    return target;
  };
  const values = self instanceof Tensor ? converted(self) : self;
  lowerSearch(converted(sorted), values, right || side === 'right', sorter ?? null, output, context);
}

const searchRow = (schema: string): OperatorRow =>
  kernel<Search>(schema, {
    shape: searchMeta,
    host: (args, [output]) => runSearch(args, output),
    lower: lowerSearchRow,
    promotes: true,
    out: 'Tensor_out',
  });

interface Bucketize {
  readonly self: Tensor | Scalar;
  readonly boundaries: Tensor;
  readonly out_int32: boolean;
  readonly right: boolean;
}

const bucketRow = (form: 'Tensor' | 'Scalar'): OperatorRow => {
  const asSearch = ({ self, boundaries, out_int32: narrow, right }: Bucketize): Search => ({
    sorted_sequence: boundaries,
    self,
    out_int32: narrow,
    right,
  });
  return kernel<Bucketize>(
    `aten::bucketize.${form}(${form} self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor`,
    {
      shape: ({ self, boundaries, out_int32: narrow }) => {
        check(boundaries.dim === 1, `boundaries tensor must be 1 dimension, but got dim(${boundaries.dim})`);
        return { sizes: self instanceof Tensor ? self.symSizes : [], dtype: narrow ? 'int32' : 'int64' };
      },
      host: (args, [output]) => runSearch(asSearch(args), output),
      lower: (args, outputs, context) => lowerSearchRow(asSearch(args), outputs, context),
      promotes: true,
      out: form === 'Tensor' ? 'Tensor_out' : false,
    },
  );
};

interface IsIn {
  readonly elements?: Tensor;
  readonly element?: Scalar;
  readonly test_elements?: Tensor;
  readonly test_element?: Scalar;
  readonly invert: boolean;
}

/** Values as they are compared: those of 64 bits among each other exactly. */
function* comparedValues(of: Tensor | Scalar, areLong: boolean): Pieces<ArrayLike<number | bigint>> {
  if (!(of instanceof Tensor)) return [areLong ? (of as bigint) : Number(of)];
  if (!areLong) return yield* numbersInPieces(of);
  return (yield* contiguousInPieces(of)).contiguousArray();
}

const isInRow = (overload: string, args: string): OperatorRow =>
  kernel<IsIn>(`aten::isin.${overload}(${args}, *, bool assume_unique=False, bool invert=False) -> Tensor`, {
    shape: ({ elements, element, test_elements: tests, test_element: test }) => {
      const dtypes = [elements ?? element!, tests ?? test!].map((of) =>
        of instanceof Tensor ? of.dtype : of instanceof Complex ? 'complex128' : scalarDtype(of),
      );
      const refused = dtypes.find((dtype) => dtype === 'bool' || isComplex(dtype));
      check(!refused, () => `Unsupported input type encountered for isin(): ${dtypeName(refused!)}`);
      return { sizes: elements?.symSizes ?? [], dtype: 'bool' };
    },
    *host(given, [output]) {
      const [elements, among] = [given.elements ?? given.element!, given.test_elements ?? given.test_element!];
      const areLong = [elements, among].every((of) => (of instanceof Tensor ? of.dtype : scalarDtype(of)) === 'int64');
      const tests = new Set(Array.from(yield* comparedValues(among, areLong)));
      const values = yield* comparedValues(elements, areLong);
      // A Set finds NaN, which equals nothing.
      yield* writeInPieces(
        output,
        (at) => (tests.has(values[at]) && !Number.isNaN(Number(values[at]))) !== given.invert,
      );
    },
    lowerable: ({ elements, test_elements: tests }) => elements?.dtype === tests?.dtype && elements !== undefined,
    lower: ({ elements, test_elements: tests, invert }, [output], context) =>
      lowerIsIn(elements!, tests!, invert, output, context),
    out: `${overload}_out`,
  });

interface Unique {
  readonly self: Tensor;
  readonly dim?: number | null;
  readonly return_inverse?: boolean;
  readonly return_counts?: boolean;
}

const compareNumbers = (a: number, b: number): number =>
  Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a - b;

/** Slices along a dimension (or single elements) put in order and equal neighbours joined. */
interface Grouping {
  /** One slice of each group, by its index. */
  readonly representatives: readonly number[];
  readonly inverse: readonly number[];
  readonly counts: readonly number[];
}

function* grouped(order: Int32Array, isSame: (a: number, b: number) => boolean, width = 1): Pieces<Grouping> {
  const representatives: number[] = [];
  const counts: number[] = [];
  const inverse = new Array<number>(order.length);
  yield* repeat(order.length, 8 + 2 * width, (at) => {
    const slice = order[at];
    if (at === 0 || !isSame(order[at - 1], slice)) {
      representatives.push(slice);
      counts.push(0);
    }
    counts[counts.length - 1]++;
    inverse[slice] = representatives.length - 1;
  });
  return { representatives, counts, inverse };
}

function* listTensor(values: readonly number[], sizes: readonly number[], dtype: ScalarType): Pieces<Tensor> {
  const tensor = Tensor.empty(sizes, dtype);
  yield* writeInPieces(tensor, (at) => values[at]);
  return tensor;
}

/** Positions in the order of what they stand for, equals as they stand. */
function* sortedPositions(
  count: number,
  compare: ((a: number, b: number) => number) | null,
  width = 1,
): Pieces<Int32Array> {
  if (compare) return yield* stableOrder(count, (a, b) => compare(a, b) < 0, width);
  return yield* filled(positionsFor(count), 1, (at) => at);
}

function* uniqueElements(self: Tensor, consecutive: boolean): Pieces<Tensor[]> {
  const values = yield* numbersInPieces(self);
  const compare = (a: number, b: number): number => compareNumbers(values[a], values[b]);
  const order = yield* sortedPositions(values.length, consecutive ? null : compare);
  const { representatives, inverse, counts } = yield* grouped(order, (a, b) => values[a] === values[b]);
  const whole = yield* contiguousInPieces(self);
  const output = Tensor.empty([representatives.length], self.dtype);
  yield* writeInPieces(output, (at) => readScalar(whole, whole.storageOffset + representatives[at]));
  return [output, yield* listTensor(inverse, self.sizes, 'int64'), yield* listTensor(counts, [counts.length], 'int64')];
}

function* uniqueSlices(self: Tensor, dim: number, consecutive: boolean): Pieces<Tensor[]> {
  const along = wrapDimOfRanked(dim, self.dim);
  const nothing = self.sizes.filter((size) => size === 0).length;
  if (self.sizes[along] === 0)
    check(nothing === 1, 'Number of zero sized dimensions is more than one, so unique cannot be applied ');
  else check(nothing === 0, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  const rows = yield* contiguousInPieces(movedim(self, [along], [0]));
  const values = yield* numbersInPieces(rows);
  const count = rows.sizes[0];
  const width = count === 0 ? 0 : values.length / count;
  const compare = (a: number, b: number): number => {
    for (let at = 0; at < width; at++) {
      const difference = compareNumbers(values[a * width + at], values[b * width + at]);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  const order = yield* sortedPositions(count, consecutive ? null : compare, width);
  const { representatives, inverse, counts } = yield* grouped(order, (a, b) => compare(a, b) === 0, width);
  const output = Tensor.empty(self.sizes.with(along, representatives.length), self.dtype);
  yield* repeat(representatives.length, 2 * width + 256, (at) =>
    copyInto(select(output, along, at), select(self, along, representatives[at])),
  );
  return [
    output,
    yield* listTensor(inverse, [inverse.length], 'int64'),
    yield* listTensor(counts, [counts.length], 'int64'),
  ];
}

/**
 * Positions and counts that nobody asked for are empty, except along a dimension: there everything is worked out, and handed out,
 * in any case. Runs of a vector along its dimension 0 are runs of its elements.
 */
function* uniqueResults(args: Unique, results: number, consecutive: boolean, isFlat: boolean): Pieces<Tensor[]> {
  const { self, dim } = args;
  const work = isFlat ? uniqueElements(self, consecutive) : uniqueSlices(self, dim!, consecutive);
  const [output, inverse, counts] = yield* work;
  const none = (): Tensor => Tensor.empty([0], 'int64');
  const all = [
    output,
    !isFlat || args.return_inverse ? inverse : none(),
    !isFlat || args.return_counts ? counts : none(),
  ];
  return all.slice(0, results);
}

/** Whether elements are compared, not slices. */
const comparesElements = (schema: string, { self, dim }: Unique): boolean =>
  dim === undefined || dim === null || (schema.includes('unique_consecutive(') && dim === 0 && self.dim === 1);

const uniqueRow = (schema: string, results: number, consecutive: boolean): OperatorRow =>
  kernel<Unique>(schema, {
    // Along a dimension everything is worked out, and handed out, in any case.
    host: (args) => uniqueResults(args, results, consecutive, comparesElements(schema, args)),
    lowerable: (args) => comparesElements(schema, args),
    device: async (args, context) => {
      const [output, inverse, counts] = await deviceUnique(args.self, consecutive, context);
      const none = (): Tensor => Tensor.empty([0], 'int64');
      return [output, args.return_inverse ? inverse : none(), args.return_counts ? counts : none()].slice(0, results);
    },
  });

interface Histogram {
  readonly self: Tensor;
  readonly bins: number;
  readonly min: Scalar;
  readonly max: Scalar;
}

/** Counts in bins of equal width; the last one includes its upper end. */
function* countInBins({ self, bins, min, max }: Histogram, output: Tensor): Pieces {
  const values = yield* numbersInPieces(self);
  let [low, high] = [Number(min), Number(max)];
  if (low === high && values.length > 0) {
    [low, high] = [Infinity, -Infinity];
    yield* repeat(values.length, 4, (at) => {
      [low, high] = [Math.min(low, values[at]), Math.max(high, values[at])];
    });
  }
  if (low === high) [low, high] = [low - 1, high + 1];
  check(Number.isFinite(low) && Number.isFinite(high), `range of [${low}, ${high}] is not finite`);
  check(low < high, 'torch.histc: max must be larger than min');
  const counts = scratch(Float64Array, bins);
  // Each step is rounded, as the kernel does its arithmetic in the tensor's own dtype.
  const round = roundingTo(self.dtype);
  const width = round(high - low);
  yield* repeat(values.length, 8, (at) => {
    const value = values[at];
    if (!(value >= low && value <= high)) return;
    const place = round(round(round(value - low) * bins) / width);
    counts[Math.min(Math.floor(place), bins - 1)]++;
  });
  yield* writeInPieces(output, (at) => counts[at]);
}

export const searchingRows: readonly OperatorRow[] = [
  searchRow(
    'aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor',
  ),
  kernel<Search>(
    'aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor',
    {
      shape: searchMeta,
      host: (args, [output]) => runSearch(args, output),
      lower: lowerSearchRow,
      out: true,
    },
  ),
  bucketRow('Tensor'),
  bucketRow('Scalar'),
  isInRow('Tensor_Tensor', 'Tensor elements, Tensor test_elements'),
  isInRow('Tensor_Scalar', 'Tensor elements, Scalar test_element'),
  isInRow('Scalar_Tensor', 'Scalar element, Tensor test_elements'),
  uniqueRow(
    'aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)',
    3,
    false,
  ),
  uniqueRow('aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)', 2, false),
  uniqueRow(
    'aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)',
    3,
    false,
  ),
  uniqueRow(
    'aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)',
    3,
    true,
  ),
  uniqueRow(
    'aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)',
    3,
    true,
  ),
  kernel<Histogram>('aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor', {
    shape: ({ self, bins }) => {
      check(bins > 0, () => `torch.histogram(): bins must be > 0, but got ${bins} for dimension 0`);
      check(
        isFloatingPoint(self.dtype) || self.dtype.startsWith('int') || self.dtype === 'uint8',
        `"histogram_cpu" not implemented for '${dtypeName(self.dtype)}'`,
      );
      return { sizes: [bins], dtype: self.dtype };
    },
    host: (args, [output]) => countInBins(args, output),
    out: true,
  }),
];
