import { type Pieces, filled, inRuns } from '../../kernels/loops/pieces.ts';
import { settle, symEq, type SymInt, type Tensor } from '@cresset/tensor';
import { cast, TensorView } from '@cresset/tensorexpr';
import { lowerCopy, copyPieces } from '../../kernels/copy.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check, OperatorError, type ErrorKind } from '../../kernels/errors.ts';
import { kernel, type KernelRule } from '../../table/builders.ts';
import type { LoweringContext, OperatorRow } from '../../table/row.ts';
import { launchCopy } from './launched-copy.ts';
import { elementMover, offsetsInPieces } from './element-moves.ts';
import { launchPositionCheck, positionFault } from './position-faults.ts';

/** Whole slices taken from positions given by a vector (TensorAdvancedIndexing.cpp). */

export interface Indexed {
  readonly self: Tensor;
  readonly dim: number;
  readonly index: Tensor;
}

/** Sizes of `self` with that of `dim` replaced. */
export const withSize = (self: Tensor, dim: number, size: SymInt): SymInt[] =>
  self.symSizes.map((own, at) => (at === dim ? size : own));

const indexSelectRule: KernelRule<Indexed> = {
  shape: ({ self, dim, index }) => {
    check(index.dim <= 1, 'index_select(): Index is supposed to be a vector', 'IndexError');
    check(
      self.dim > 0 || symEq(index.symNumel, 1),
      () => `index_select(): Index to scalar can have only 1 value, got ${index.numel} value(s)`,
    );
    check(
      index.dtype === 'int64' || index.dtype === 'int32',
      'index_select(): Expected dtype int32 or int64 for index',
    );
    return { sizes: withSize(self, wrapDim(dim, self.dim), index.symNumel), dtype: self.dtype };
  },
  *host({ self, dim, index }, [output]) {
    if (self.dim === 0) {
      yield* vectorPositions(index, 1, () => outOfRange(0, '', 1));
      return yield* copyPieces(output, self);
    }
    const wrapped = wrapDim(dim, self.dim);
    const positions = yield* vectorPositions(index, self.sizes[wrapped], (position, size) =>
      outOfRange(wrapped, position, size),
    );
    yield* moveSlices(output, self, wrapped, (slice) => [slice, positions[slice]], positions.length);
  },
  lower: ({ self, dim, index }, [output], context) =>
    lowerIndexSelect(self, wrapDim(dim, self.dim), index, output, context),
};

/** PyTorch gathers along the second dimension by a kernel of its own, with words of its own (caffe2 BatchGather). */
const outOfRange = (dim: number, position: number | bigint | string, size: number): string =>
  dim === 1 ? `INDICES element is out of DATA bounds, id=${position} axis_dim=${size}` : 'index out of range in self';

function lowerIndexSelect(self: Tensor, dim: number, index: Tensor, output: Tensor, context: LoweringContext): void {
  if (symEq(output.symNumel, 0)) return;
  if (self.dim === 0) {
    launchPositionCheck(index, 0, 1, outOfRange(0, '%', 1), context);
    lowerCopy(output, self, context, 'aten::index_select');
    return;
  }
  const source = new TensorView(self);
  const target = new TensorView(output);
  const axes = target.axes();
  const vector = index.dim === 0 ? index.asStrided([1], [0]) : index;
  const given = new TensorView(vector).at([axes[dim]]);
  const position = axes.map((axis, at) => (at === dim ? cast('i32', given) : axis));
  const size = settle(self.symSizes[dim]);
  const complaint = outOfRange(dim, '%', size);
  const faults = positionFault(given, 0, size, complaint, context);
  launchCopy('aten::index_select', axes, target, source.at(position), context, faults);
}

/** Positions an index vector holds; throws what `complaint` says where one is out of range. */
export function* vectorPositions(
  index: Tensor,
  size: number,
  complaint: (position: number | bigint, size: number) => string,
  kind: ErrorKind = 'IndexError',
): Pieces<number[]> {
  const read = numberReader(index);
  const offsets = yield* offsetsInPieces(index.sizes, index.strides, index.storageOffset);
  return yield* filled(new Array<number>(offsets.length), 8, (at) => {
    const position = read(offsets[at]);
    if (position < 0 || position >= size) {
      throw new OperatorError(complaint(index.storageArray()[offsets[at]], size), kind);
    }
    return position;
  });
}

/** Offsets of the slice at `position` along `dim`. */
export function* sliceOffsets(tensor: Tensor, dim: number, position: number): Pieces<Float64Array> {
  if (tensor.dim === 0) return Float64Array.of(tensor.storageOffset);
  const without = (values: readonly number[]): number[] => values.filter((_, at) => at !== dim);
  const start = tensor.storageOffset + position * tensor.strides[dim];
  return yield* offsetsInPieces(without(tensor.sizes), without(tensor.strides), start);
}

export function* moveSlices(
  target: Tensor,
  source: Tensor,
  dim: number,
  pair: (slice: number) => readonly [to: number, from: number],
  count: number,
): Pieces {
  const move = elementMover(target, source);
  // Each slice lies as the first one does.
  const froms = yield* sliceOffsets(source, dim, 0);
  const places = yield* sliceOffsets(target, dim, 0);
  const [fromStride, stride] = [source, target].map(({ strides }) => strides[dim] ?? 0);
  yield* inRuns(count, places.length, 8, (slice, start, end) => {
    const [to, from] = pair(slice);
    for (let at = start; at < end; at++) move(places[at] + to * stride, froms[at] + from * fromStride);
  });
}

export const indexSelectRows: readonly OperatorRow[] = [
  kernel('aten::index_select(Tensor self, int dim, Tensor index) -> Tensor', {
    ...indexSelectRule,
    out: 'out',
    mayShare: () => ({ self: 'nothing', index: 'nothing' }),
  }),
];
