import { isFloatingPoint, Tensor, type ScalarType, scratch } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { scalarToNumber } from '../../kernels/elements.ts';
import { check, notImplementedFor, OperatorError } from '../../kernels/errors.ts';
import { readNumbers, type FloatArray, numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import type { OperatorRow, Scalar } from '../../table/row.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { type Pieces, PIECE_SIZE, repeat } from '../../kernels/loops/pieces.ts';

/** Reductions over runs of a dimension, whose lengths or boundaries are data (ATen/native/SegmentReduce.cpp). */

type Reduction = 'max' | 'min' | 'mean' | 'sum' | 'prod';

interface SegmentArgs {
  readonly data: Tensor;
  readonly reduce: string;
  readonly lengths: Tensor | null;
  readonly offsets: Tensor | null;
  readonly axis: number;
  readonly unsafe?: boolean;
  readonly initial: Scalar | null;
}

interface Segment {
  /** Where its first value lies, and how far it is to the next one. */
  readonly first: number;
  readonly step: number;
  readonly length: number;
  /** Its place in the result. */
  readonly at: number;
}

function reductionNamed(name: string): Reduction {
  if (name === 'amax' || name === 'max') return 'max';
  if (name === 'amin' || name === 'min') return 'min';
  if (name === 'mean' || name === 'sum' || name === 'prod') return name;
  throw new OperatorError(`reduce argument must be either sum, prod, mean, amax or amin, got ${name}`);
}

/** Sizes of the result and the boundaries of segments: for each row before the axis, one more number than segments. */
function* boundariesOf({ data, lengths, offsets, axis: given, unsafe }: SegmentArgs): Pieces<{
  axis: number;
  count: number;
  starts: Float64Array;
}> {
  const axis = wrapDim(given, data.dim);
  check(lengths !== null || offsets !== null, 'segment_reduce(): Either lengths or offsets must be defined.');
  const bounds = (offsets ?? lengths)!;
  check(
    bounds.dim <= data.dim,
    'Expected data.dim() >= lengths_value.dim() to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)',
  );
  check(
    axis === bounds.dim - 1,
    `segment_reduce(): Expected axis to be the last dimension of ${offsets ? 'offsets' : 'lengths'} but got ${axis}.`,
  );
  const numbers = yield* numbersInPieces(bounds);
  const width = bounds.sizes[axis];
  if (offsets) return { axis, count: width - 1, starts: Float64Array.from(numbers) };
  const rows = numbers.length / Math.max(width, 1);
  const starts = scratch(Float64Array, rows * (width + 1));
  for (let row = 0; row < rows; row++) {
    yield* repeat(width, 4, (i) => {
      const length = numbers[row * width + i];
      check(unsafe === true || length >= 0, 'lengths contains negative value!');
      starts[row * (width + 1) + i + 1] = starts[row * (width + 1) + i] + length;
    });
    yield;
    check(
      unsafe === true || starts[row * (width + 1) + width] === data.sizes[axis],
      'segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.',
    );
  }
  return { axis, count: width, starts };
}

function* forEachSegment(
  args: SegmentArgs,
  visit: (segment: Segment) => void,
): Pieces<{ axis: number; count: number }> {
  const { axis, count, starts } = yield* boundariesOf(args);
  const { sizes } = args.data;
  const inner = sizes.slice(axis + 1).reduce((product, size) => product * size, 1);
  const rows = count < 0 ? 0 : starts.length / (count + 1);
  let done = 0;
  for (let row = 0; row < rows; row++) {
    for (let segment = 0; segment < count; segment++) {
      const start = starts[row * (count + 1) + segment];
      const length = starts[row * (count + 1) + segment + 1] - start;
      yield* repeat(inner, 8 * Math.max(length, 1), (column) => {
        const first = (row * sizes[axis] + start) * inner + column;
        visit({ first, step: inner, length, at: (row * count + segment) * inner + column });
      });
      done += inner * length + 16;
      if (done < PIECE_SIZE / 8) continue;
      done = 0;
      yield;
    }
  }
  return { axis, count };
}

const neutral: Record<Reduction, number> = { max: -Infinity, min: Infinity, mean: 0, sum: 0, prod: 1 };

function combined(reduction: Reduction, a: number, b: number): number {
  switch (reduction) {
    case 'max':
      return Number.isNaN(b) ? b : Math.max(a, b);
    case 'min':
      return Number.isNaN(b) ? b : Math.min(a, b);
    case 'prod':
      return a * b;
    default:
      return a + b;
  }
}

function refuse(kernelName: string, dtype: ScalarType): void {
  if (!isFloatingPoint(dtype)) throw notImplementedFor(kernelName, dtypeName(dtype));
}

function* segmentReduce(args: SegmentArgs): Pieces<Tensor> {
  const { data, initial } = args;
  const reduction = reductionNamed(args.reduce);
  const sizes = [...data.sizes];
  const { axis, count } = yield* boundariesOf(args);
  sizes[axis] = count;
  refuse('_segment_reduce_cpu', data.dtype);
  const output = Tensor.empty(sizes, data.dtype);
  const values = yield* numbersInPieces(data);
  const results = scratch(Float64Array, output.numel);
  const round = roundingTo(data.dtype);
  yield* forEachSegment(args, ({ first, step, length, at }) => {
    let value = initial === null ? neutral[reduction] : round(scalarToNumber(initial));
    for (let i = 0; i < length; i++) value = round(combined(reduction, value, values[first + i * step]));
    if (reduction === 'mean') {
      if (length === 0 && initial === null) value = NaN;
      else if (length > 0 && !Number.isNaN(value)) value /= length;
    }
    results[at] = value;
  });
  yield* storeInPieces(output, results);
  return output;
}

interface SegmentBackwardArgs extends SegmentArgs {
  readonly grad: Tensor;
  readonly output: Tensor;
}

function* segmentReduceBackward(args: SegmentBackwardArgs): Pieces<Tensor> {
  const { data, initial } = args;
  const reduction = reductionNamed(args.reduce);
  refuse('_segment_reduce_cpu', data.dtype);
  const [grads, outputs, values] = [args.grad, args.output, data].map(readNumbers);
  const gradients = scratch(Float64Array, data.numel);
  const start = initial === null ? 1 : scalarToNumber(initial);
  // What lengths have to be was asked, or not, on the way here.
  yield* forEachSegment({ ...args, unsafe: true }, (segment) => {
    spread(reduction, segment, grads[segment.at], outputs[segment.at], start, values, gradients);
  });
  const result = Tensor.empty(data.sizes, data.dtype);
  yield* storeInPieces(result, gradients);
  return result;
}

/** The gradient of one segment's result, handed to its values. */
function spread(
  reduction: Reduction,
  { first, step, length }: Segment,
  grad: number,
  output: number,
  start: number,
  values: FloatArray,
  gradients: Float64Array,
): void {
  const places = Array.from({ length }, (_, i) => first + i * step);
  switch (reduction) {
    case 'sum':
    case 'mean':
      for (const place of places) gradients[place] = reduction === 'sum' ? grad : grad / length;
      return;
    case 'prod':
      for (const place of places) {
        const value = values[place];
        const others = (): number =>
          places.reduce((product, other) => (other === place ? product : product * values[other]), start);
        gradients[place] = Number.isNaN(value) || value === 0 ? grad * others() : (grad * output) / value;
      }
      return;
    default: {
      // Values equal to the result share the gradient.
      const chosen = places.filter((place) => Number.isNaN(values[place]) || values[place] === output);
      for (const place of chosen) gradients[place] = grad / chosen.length;
    }
  }
}

export const segmentReduceRows: readonly OperatorRow[] = [
  kernel<SegmentArgs>(
    'aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor',
    { host: segmentReduce, out: true },
  ),
  kernel<SegmentBackwardArgs>(
    'aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor',
    { host: segmentReduceBackward, out: true },
  ),
];
