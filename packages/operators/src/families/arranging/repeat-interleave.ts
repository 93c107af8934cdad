import { contiguousStrides, Tensor, symMul } from '@cresset/tensor';
import { expand } from '../../kernels/broadcast.ts';
import { contiguousInPieces, copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { writeInPieces } from '../../kernels/fill.ts';
import { PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { narrowView } from '../../kernels/views.ts';
import { kernel } from '../../table/builders.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import * as views from '../views/view-functions.ts';
import { deviceRepeat } from './repeat-lowering.ts';

/** Elements repeated one by one (ATen/native/Repeat.cpp). */

interface RepeatEach {
  readonly self: Tensor;
  readonly repeats: number;
  readonly dim: number | null;
}

/** The output with a dimension of its own for the repetitions, and the tensor expanded to that. */
function repeatedEach({ self, repeats, dim }: RepeatEach, output: Tensor): { target: Tensor; source: Tensor } {
  const at = dim === null || self.dim === 0 ? self.dim : wrapDim(dim, self.dim) + 1;
  const source = self.asStrided(self.symSizes.toSpliced(at, 0, repeats), self.symStrides.toSpliced(at, 0, 0));
  return { target: views.viewed(output, source.symSizes), source };
}

function repeatEachMeta({ self, repeats, dim }: RepeatEach): TensorMeta {
  check(repeats >= 0, 'Repeats must be non-negative');
  if (dim === null || self.dim === 0) return { sizes: [symMul(self.symNumel, repeats)], dtype: self.dtype };
  const at = wrapDim(dim, self.dim);
  const { symSizes: sizes } = self;
  return { sizes: sizes.with(at, symMul(sizes[at], repeats)), dtype: self.dtype };
}

const repeatInterleave = kernel<RepeatEach>(
  'aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor',
  {
    shape: repeatEachMeta,
    *host(args, [output]) {
      const { target, source } = repeatedEach(args, output);
      yield* copyPieces(target, source);
    },
    lower: (args, [output], context) => {
      const { target, source } = repeatedEach(args, output);
      lowerCopy(target, source, context, 'aten::repeat_interleave');
    },
    moves: true,
  },
);

interface RepeatByTensor {
  readonly self: Tensor;
  readonly repeats: Tensor;
  readonly dim: number | null;
}

const checkCounts = ({ dtype }: Tensor): void =>
  check(dtype === 'int64' || dtype === 'int32', 'repeats has to be Long or Int tensor');

function* countsOf(repeats: Tensor): Pieces<number[]> {
  checkCounts(repeats);
  const read = numberReader(repeats);
  const counts = new Array<number>(repeats.numel);
  yield* repeat(counts.length, 16, (at) => {
    const count = read(repeats.storageOffset + at * (repeats.strides[0] ?? 0));
    check(count >= 0, 'repeats can not be negative');
    counts[at] = count;
  });
  return counts;
}

/** Whether one number stands for all slices. */
function checkRepeats(repeats: Tensor, source: Tensor, at: number): boolean {
  check(repeats.dim <= 1, 'repeats must be 0-dim or 1-dim tensor');
  const isOne = repeats.dim === 0 || repeats.sizes[0] === 1;
  check(
    isOne || repeats.sizes[0] === source.sizes[at],
    `repeats must have the same size as input along dim, but got repeats.size(0) = ${repeats.sizes[0]} and input.size(${at}) = ${source.sizes[at]}`,
  );
  return isOne;
}

/** What it takes to find a slice, in operations on elements. */
const SLICE_COST = 512;

const onlyVectors = 'repeat_interleave only accept 1D vector as repeat';

function* repeatByTensor({ self, repeats, dim }: RepeatByTensor): Pieces<Tensor> {
  const source =
    dim === null
      ? views.viewed(yield* contiguousInPieces(self), [-1])
      : self.dim === 0
        ? self.asStrided([1], [1])
        : self;
  const at = wrapDim(dim ?? 0, source.dim);
  const isOne = checkRepeats(repeats, source, at);
  const counts = yield* countsOf(repeats);
  const each = isOne ? new Array<number>(source.sizes[at]).fill(counts[0]) : counts;
  const output = Tensor.empty(
    source.sizes.with(
      at,
      each.reduce((sum, count) => sum + count, 0),
    ),
    source.dtype,
  );
  let [start, done] = [0, 0];
  for (let index = 0; index < each.length; index++) {
    const part = narrowView(output, at, start, each[index]);
    yield* copyPieces(part, expand(narrowView(source, at, index, 1), part.sizes));
    start += each[index];
    done += part.numel + SLICE_COST;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
  return output;
}

export const repeatInterleaveRows: readonly OperatorRow[] = [
  kernel(
    'aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor',
    {
      host: repeatByTensor,
      device: ({ self, repeats, dim }: RepeatByTensor, context) => {
        checkCounts(repeats);
        let source = self;
        if (dim === null) {
          const flat = context.temporary([self.numel], self.dtype);
          lowerCopy(flat.asStrided(self.sizes, contiguousStrides(self.sizes)), self, context);
          source = flat;
        } else if (self.dim === 0) source = self.asStrided([1], [1]);
        const at = wrapDim(dim ?? 0, source.dim);
        const isOne = checkRepeats(repeats, source, at);
        const counts = isOne ? expand(repeats, [source.sizes[at]]) : repeats;
        return deviceRepeat(counts, 'aten::repeat_interleave', context, { self: source, dim: at });
      },
    },
  ),
  // A tensor of repeats is to be that, and not one number.
  repeatInterleave,
  kernel<{ repeats: Tensor }>('aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor', {
    *host({ repeats }) {
      check(repeats.dim === 1, onlyVectors);
      const counts = yield* countsOf(repeats);
      const output = Tensor.empty([counts.reduce((sum, count) => sum + count, 0)], repeats.dtype);
      let [position, left] = [0, counts[0]];
      yield* writeInPieces(output, () => {
        while (left === 0) left = counts[++position];
        left--;
        return BigInt(position);
      });
      return output;
    },
    device: ({ repeats }, context) => {
      check(repeats.dim === 1, onlyVectors);
      checkCounts(repeats);
      return deviceRepeat(repeats, 'aten::repeat_interleave', context, null);
    },
  }),
];
