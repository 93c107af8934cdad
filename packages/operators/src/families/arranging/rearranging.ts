import { contiguousStrides, Tensor } from '@cresset/tensor';
import { binary, param, TensorView } from '@cresset/tensorexpr';
import { expand } from '../../kernels/broadcast.ts';
import { kernel, type Forms } from '../../table/builders.ts';
import { contiguousOf, copyPieces, lowerCopy, contiguousInPieces } from '../../kernels/copy.ts';
import { sizesText, wrapDim, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { lowerGenerated, writeInPieces } from '../../kernels/fill.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { deviceRepeat } from './repeat-lowering.ts';
import * as views from '../views/view-functions.ts';
import { type Pieces, inTurn } from '../../kernels/pieces.ts';

/** Elements repeated and put in another order (ATen/native/TensorTransformations.cpp, Repeat.cpp). */

interface Self {
  readonly self: Tensor;
}

/** A copy of a strided view, whose strides may be negative: elements in another order. */
function moving<Args>(schema: string, shown: (args: Args) => Tensor, forms: Forms = { out: true }): OperatorRow {
  return kernel<Args>(schema, {
    shape: (args) => {
      const { sizes, dtype } = shown(args);
      return { sizes, dtype };
    },
    host: (args, [output]) => copyPieces(output, shown(args)),
    lower: (args, [output], context) => lowerCopy(output, shown(args), context, schema.slice(0, schema.search(/[.(]/))),
    moves: true,
    ...forms,
  });
}

/** The same elements, counted backwards along some dimensions. */
export function flipped(tensor: Tensor, dims: readonly number[]): Tensor {
  const wrapped = dims.map((dim) => wrapDim(dim, tensor.dim));
  wrapped.forEach((dim, at) =>
    check(wrapped.indexOf(dim) === at, `dim ${dim} appears multiple times in the list of dims`),
  );
  let offset = tensor.storageOffset;
  const strides = tensor.strides.map((stride, dim) => {
    if (!wrapped.includes(dim) || tensor.sizes[dim] === 0) return stride;
    offset += (tensor.sizes[dim] - 1) * stride;
    return -stride;
  });
  return tensor.asStrided(tensor.sizes, strides, offset);
}

/** By quarter turns in the plane of two dimensions. */
function rotated({ self, k, dims }: Self & { k: number; dims: readonly number[] }): Tensor {
  check(dims.length === 2, `expected total rotation dims == 2, but got dims = ${dims.length}`);
  check(self.dim >= 2, `expected total dims >= 2, but got total dims = ${self.dim}`);
  check(
    dims[0] !== dims[1] && Math.abs(dims[0] - dims[1]) !== self.dim,
    `expected rotation dims to be different, but got dim0 = ${dims[0]} and dim1 = ${dims[1]}`,
  );
  const [a, b] = dims.map((dim) => wrapDim(dim, self.dim));
  switch (((k % 4) + 4) % 4) {
    case 1:
      return views.transpose(flipped(self, [b]), a, b);
    case 2:
      return flipped(self, [a, b]);
    case 3:
      return views.transpose(flipped(self, [a]), a, b);
    default:
      return self;
  }
}

/** Sizes and strides in pairs: `output` as `[repeats, sizes]` for each dimension. */
function interleaved(output: Tensor, counts: readonly number[], sizes: readonly number[]): Tensor {
  const shown: number[] = [];
  const strides: number[] = [];
  counts.forEach((count, dim) => {
    shown.push(count, sizes[dim]);
    strides.push(output.strides[dim] * sizes[dim], output.strides[dim]);
  });
  return output.asStrided(shown, strides);
}

interface Repeat extends Self {
  readonly repeats: readonly number[];
}

/** The whole tensor again and again along each dimension, which new ones may come before. */
function repeating<Args>(schema: string, prepare: (args: Args) => Repeat): OperatorRow {
  const parts = ({ self, repeats }: Repeat, output: Tensor): { target: Tensor; source: Tensor } => {
    const sizes = [...new Array<number>(repeats.length - self.dim).fill(1), ...self.sizes];
    const padded = expand(self, sizes);
    const pairs = sizes.flatMap((size) => [1, size]);
    const strides = padded.strides.flatMap((stride) => [0, stride]);
    const target = interleaved(output, repeats, sizes);
    return { target, source: expand(self.asStrided(pairs, strides), target.sizes) };
  };
  return kernel<Args>(schema, {
    shape: (args) => {
      const { self, repeats } = prepare(args);
      check(
        repeats.length >= self.dim,
        'Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor',
      );
      const lead = repeats.length - self.dim;
      const negative = repeats.some((count) => count < 0);
      check(
        !negative,
        () => `Trying to create tensor with negative dimension ${Math.min(...repeats)}: ${sizesText(repeats)}`,
      );
      return { sizes: repeats.map((count, dim) => count * (self.sizes[dim - lead] ?? 1)), dtype: self.dtype };
    },
    *host(args, [output]) {
      if (output.numel === 0) return;
      const { target, source } = parts(prepare(args), output);
      yield* copyPieces(target, source);
    },
    lower: (args, [output], context) => {
      if (output.numel === 0) return;
      const { target, source } = parts(prepare(args), output);
      lowerCopy(target, source, context, 'aten::repeat');
    },
    moves: true,
    out: false,
  });
}

function tiled({ self, dims }: Self & { dims: readonly number[] }): Repeat {
  const lead = Math.max(self.dim - dims.length, 0);
  return { self, repeats: [...new Array<number>(lead).fill(1), ...dims] };
}

interface RepeatEach extends Self {
  readonly repeats: number;
  readonly dim: number | null;
}

/** The output with a dimension of its own for the repetitions, and the tensor expanded to that. */
function repeatedEach({ self, repeats, dim }: RepeatEach, output: Tensor): { target: Tensor; source: Tensor } {
  const at = dim === null || self.dim === 0 ? self.dim : wrapDim(dim, self.dim) + 1;
  const source = self.asStrided(self.sizes.toSpliced(at, 0, repeats), self.strides.toSpliced(at, 0, 0));
  return { target: views.viewed(output, source.sizes), source };
}

function repeatEachMeta({ self, repeats, dim }: RepeatEach): TensorMeta {
  check(repeats >= 0, 'Repeats must be non-negative');
  if (dim === null || self.dim === 0) return { sizes: [self.numel * repeats], dtype: self.dtype };
  const at = wrapDim(dim, self.dim);
  return { sizes: self.sizes.with(at, self.sizes[at] * repeats), dtype: self.dtype };
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

const countsOf = (repeats: Tensor): number[] => {
  checkCounts(repeats);
  const read = numberReader(repeats);
  const counts = Array.from({ length: repeats.numel }, (_, at) =>
    read(repeats.storageOffset + at * (repeats.strides[0] ?? 0)),
  );
  check(
    counts.every((count) => count >= 0),
    'repeats can not be negative',
  );
  return counts;
};

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
  const counts = countsOf(repeats);
  const each = isOne ? new Array<number>(source.sizes[at]).fill(counts[0]) : counts;
  const output = Tensor.empty(
    source.sizes.with(
      at,
      each.reduce((sum, count) => sum + count, 0),
    ),
    source.dtype,
  );
  yield* inTurn(views.pieces(output, at, each), (part, index) =>
    copyPieces(part, expand(views.slice(source, at, index, index + 1, 1), part.sizes)),
  );
  return output;
}

interface Roll extends Self {
  readonly shifts: readonly number[];
  readonly dims: readonly number[];
}

/** By how much each dimension is shifted, within its size. */
function shiftsByDim({ self, shifts, dims }: Roll): number[] {
  const total = new Array<number>(self.dim).fill(0);
  dims.forEach((dim, at) => (total[wrapDim(dim, self.dim)] += shifts[at]));
  return total.map((shift, dim) =>
    self.sizes[dim] === 0 ? 0 : ((shift % self.sizes[dim]) + self.sizes[dim]) % self.sizes[dim],
  );
}

function checkRoll({ self, shifts, dims }: Roll): void {
  check(shifts.length > 0, '`shifts` required');
  for (const dim of dims) wrapDimOfRanked(dim, self.dim);
  check(
    dims.length > 0 || shifts.length === 1,
    `shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`,
  );
  check(
    dims.length === 0 || dims.length === shifts.length,
    `shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`,
  );
}

/** Without dimensions the tensor rolls as if it were flat. */
function rollViews(
  args: Roll,
  output: Tensor,
  contiguous: (tensor: Tensor) => Tensor,
): { from: Tensor; to: Tensor; shifts: number[] } {
  if (args.dims.length > 0) return { from: args.self, to: output, shifts: shiftsByDim(args) };
  const from = views.viewed(contiguous(args.self), [-1]);
  return { from, to: views.viewed(output, [-1]), shifts: shiftsByDim({ self: from, shifts: args.shifts, dims: [0] }) };
}

/** Copies the two halves along the first shifted dimension, each rolled along the rest. */
function* copyRolled(to: Tensor, from: Tensor, shifts: readonly number[]): Pieces {
  const dim = shifts.findIndex((shift) => shift !== 0);
  if (dim === -1) {
    yield* copyPieces(to, from);
    return;
  }
  const size = from.sizes[dim];
  const shift = shifts[dim];
  const rest = shifts.with(dim, 0);
  yield* copyRolled(views.slice(to, dim, shift, null, 1), views.slice(from, dim, 0, size - shift, 1), rest);
  yield* copyRolled(views.slice(to, dim, 0, shift, 1), views.slice(from, dim, size - shift, null, 1), rest);
}

const roll = kernel<Roll>('aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor', {
  shape: (args) => {
    checkRoll(args);
    return { sizes: args.self.sizes, dtype: args.self.dtype };
  },
  *host(args, [output]) {
    if (output.numel === 0) return;
    const { from, to, shifts } = rollViews(args, output, contiguousOf);
    yield* copyRolled(to, from, shifts);
  },
  lower: (args, [output], context) => {
    if (output.numel === 0) return;
    const contiguous = (tensor: Tensor): Tensor => {
      if (tensor.isContiguous()) return tensor;
      const copy = context.temporary(tensor.sizes, tensor.dtype);
      lowerCopy(copy, tensor, context);
      return copy;
    };
    const { from, to, shifts } = rollViews(args, output, contiguous);
    const source = new TensorView(from);
    lowerGenerated(
      to,
      (axes) =>
        source.at(
          axes.map((axis, dim) =>
            shifts[dim] === 0
              ? axis
              : binary(
                  'remainder',
                  binary('add', axis, param('i32', from.sizes[dim] - shifts[dim])),
                  source.sizes[dim],
                ),
          ),
        ),
      context,
      'aten::roll',
    );
  },
});

export const rearrangingRows: readonly OperatorRow[] = [
  moving<Self & { dims: readonly number[] }>('aten::flip(Tensor self, int[] dims) -> Tensor', ({ self, dims }) =>
    flipped(self, dims),
  ),
  moving<Self>(
    'aten::fliplr(Tensor self) -> Tensor',
    ({ self }) => {
      check(self.dim >= 2, 'Input must be >= 2-d.');
      return flipped(self, [1]);
    },
    {},
  ),
  moving<Self>(
    'aten::flipud(Tensor self) -> Tensor',
    ({ self }) => {
      check(self.dim >= 1, 'Input must be >= 1-d.');
      return flipped(self, [0]);
    },
    {},
  ),
  moving('aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor', rotated),
  repeating<Repeat>('aten::repeat(Tensor self, SymInt[] repeats) -> Tensor', (args) => args),
  repeating('aten::tile(Tensor self, SymInt[] dims) -> Tensor', tiled),
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
      const counts = countsOf(repeats);
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
  roll,
];
