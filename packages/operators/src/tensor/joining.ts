import { numelOf, promoteTypes, Tensor, type ScalarType } from '@cresset/tensor';
import { binary, cast, exprTypeOf, param, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { expand } from '../broadcast.ts';
import { kernel, view, type Forms } from '../builders.ts';
import { contiguousOf, copyInto, lowerCopy } from '../copy.ts';
import { sizesText, wrapDim } from '../dimensions.ts';
import { numberReader } from '../elements.ts';
import { check } from '../errors.ts';
import { fillInto, lowerFill, lowerGenerated } from '../fill.ts';
import { lowerPointwise, pointwiseShape, runPointwise } from '../pointwise.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../row.ts';
import { arithmeticRows } from './arithmetic.ts';
import * as views from './view-functions.ts';

/** Tensors put together, repeated and rearranged (ATen/native/TensorShape.cpp, TensorTransformations.cpp). */

interface Self {
  readonly self: Tensor;
}

interface Tensors {
  readonly tensors: readonly Tensor[];
}

/** What is joined, along which dimension of the result. */
interface Join {
  readonly tensors: readonly Tensor[];
  readonly dim: number;
}

/** A 1-dim tensor without elements is left out, whatever the sizes of the others. */
const isLeftOut = ({ sizes }: Tensor): boolean => sizes.length === 1 && sizes[0] === 0;

function joinMeta({ tensors, dim }: Join): TensorMeta {
  check(tensors.length > 0, 'torch.cat(): expected a non-empty list of Tensors', 'ValueError');
  tensors.forEach((tensor, at) =>
    check(tensor.dim > 0, `zero-dimensional tensor (at position ${at}) cannot be concatenated`),
  );
  const dtype = tensors.reduce<ScalarType>(
    (promoted, tensor) => promoteTypes(promoted, tensor.dtype),
    tensors[0].dtype,
  );
  const first = tensors.find((tensor) => !isLeftOut(tensor));
  if (!first) return { sizes: [0], dtype };
  const along = wrapDim(dim, first.dim);
  let total = 0;
  tensors.forEach((tensor, at) => {
    if (isLeftOut(tensor)) return;
    check(tensor.dim === first.dim, `Tensors must have same number of dimensions: got ${first.dim} and ${tensor.dim}`);
    first.sizes.forEach((size, each) =>
      check(
        each === along || size === tensor.sizes[each],
        () =>
          `Sizes of tensors must match except in dimension ${along}. Expected size ${size} but got size ${tensor.sizes[each]} for tensor number ${at} in the list.`,
      ),
    );
    total += tensor.sizes[along];
  });
  return { sizes: first.sizes.with(along, total), dtype };
}

/** The parts of the output that the tensors go to. */
function joinParts({ tensors, dim }: Join, output: Tensor): { part: Tensor; tensor: Tensor }[] {
  const kept = tensors.filter((tensor) => !isLeftOut(tensor));
  if (kept.length === 0) return [];
  const along = wrapDim(dim, output.dim);
  const parts = views.pieces(
    output,
    along,
    kept.map((tensor) => tensor.sizes[along]),
  );
  return kept.map((tensor, at) => ({ part: parts[at], tensor }));
}

/** How many tensors one kernel joins: each of its threads looks at all of them, and each takes a binding. */
const joinedAtOnce = 4;

function lowerJoin({ tensors, dim }: Join, output: Tensor, context: LoweringContext): void {
  const parts = joinParts({ tensors, dim }, output).filter(({ tensor }) => tensor.numel > 0);
  if (parts.length === 0) return;
  const along = wrapDim(dim, output.dim);
  for (let at = 0; at < parts.length; at += joinedAtOnce) {
    const group = parts.slice(at, at + joinedAtOnce);
    const extent = group.reduce((sum, { tensor }) => sum + tensor.sizes[along], 0);
    const first = group[0].part;
    const target = first.asStrided(first.sizes.with(along, extent), first.strides);
    lowerGenerated(
      target,
      (axes) =>
        joinedElement(
          group.map(({ tensor }) => tensor),
          axes,
          along,
          output.dtype,
        ),
      context,
      'aten::cat',
    );
  }
}

function joinedElement(tensors: readonly Tensor[], axes: readonly Expr[], dim: number, dtype: ScalarType): Expr {
  const type = exprTypeOf(dtype);
  const [last, ...earlier] = tensors.toReversed();
  const starts = new Map<Tensor, number>();
  let start = 0;
  for (const tensor of tensors) {
    starts.set(tensor, start);
    start += tensor.sizes[dim];
  }
  const startOf = (tensor: Tensor): Expr => param('i32', starts.get(tensor)!);
  const elementOf = (tensor: Tensor): Expr => {
    const own = tensor === tensors[0] ? axes[dim] : binary('sub', axes[dim], startOf(tensor));
    return cast(type, new TensorView(tensor).at(axes.with(dim, own)));
  };
  let value = elementOf(last);
  let next = last;
  for (const tensor of earlier) {
    value = select(binary('lt', axes[dim], startOf(next)), elementOf(tensor), value);
    next = tensor;
  }
  return value;
}

function joining<Args>(schema: string, prepare: (args: Args) => Join, forms: Forms = { out: true }): OperatorRow {
  return kernel<Args>(schema, {
    shape: (args) => joinMeta(prepare(args)),
    host: (args, [output]) => joinParts(prepare(args), output).forEach(({ part, tensor }) => copyInto(part, tensor)),
    lower: (args, [output], context) => lowerJoin(prepare(args), output, context),
    ...forms,
  });
}

function stacked({ tensors, dim }: Join): Join {
  check(tensors.length > 0, 'stack expects a non-empty TensorList');
  const along = wrapDim(dim, tensors[0].dim + 1);
  tensors.forEach((tensor, at) =>
    check(
      views.sameSizes(tensor.sizes, tensors[0].sizes),
      () =>
        `stack expects each tensor to be equal size, but got ${sizesText(tensors[0].sizes)} at entry 0 and ${sizesText(tensor.sizes)} at entry ${at}`,
    ),
  );
  return { tensors: tensors.map((tensor) => views.unsqueeze(tensor, along)), dim: along };
}

/** With at least `rank` dimensions, as numpy's stacking functions see a tensor. */
function raised(tensor: Tensor, rank: number): Tensor {
  if (tensor.dim === 0) return tensor.asStrided(new Array<number>(rank).fill(1), new Array<number>(rank).fill(1));
  let result = tensor;
  if (rank > 1 && result.dim === 1) result = views.unsqueeze(result, 0);
  return rank > 2 && result.dim === 2 ? views.unsqueeze(result, 2) : result;
}

const stackingRow = (name: string, rank: number, dimOf: (first: Tensor) => number): OperatorRow =>
  joining<Tensors>(`aten::${name}(Tensor[] tensors) -> Tensor`, ({ tensors }) => {
    check(tensors.length > 0, `${name} expects a non-empty TensorList`);
    const all = tensors.map((tensor) => raised(tensor, rank));
    return { tensors: all, dim: dimOf(all[0]) };
  });

/** Vectors are columns of the result. */
function columns({ tensors }: Tensors): Join {
  check(tensors.length > 0, 'column_stack expects a non-empty TensorList');
  return {
    tensors: tensors.map((tensor) => (tensor.dim <= 1 ? views.viewed(tensor, [tensor.numel, 1]) : tensor)),
    dim: 1,
  };
}

/** A copy of a strided view, whose strides may be negative: elements in another order. */
function moving<Args>(schema: string, shown: (args: Args) => Tensor, forms: Forms = { out: true }): OperatorRow {
  return kernel<Args>(schema, {
    shape: (args) => {
      const { sizes, dtype } = shown(args);
      return { sizes, dtype };
    },
    host: (args, [output]) => copyInto(output, shown(args)),
    lower: (args, [output], context) => lowerCopy(output, shown(args), context, schema.slice(0, schema.search(/[.(]/))),
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
    host: (args, [output]) => {
      if (output.numel === 0) return;
      const { target, source } = parts(prepare(args), output);
      copyInto(target, source);
    },
    lower: (args, [output], context) => {
      if (output.numel === 0) return;
      const { target, source } = parts(prepare(args), output);
      lowerCopy(target, source, context, 'aten::repeat');
    },
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
    host: (args, [output]) => {
      const { target, source } = repeatedEach(args, output);
      copyInto(target, source);
    },
    lower: (args, [output], context) => {
      const { target, source } = repeatedEach(args, output);
      lowerCopy(target, source, context, 'aten::repeat_interleave');
    },
  },
);

interface RepeatByTensor {
  readonly self: Tensor;
  readonly repeats: Tensor;
  readonly dim: number | null;
}

const countsOf = (repeats: Tensor): number[] => {
  check(repeats.dtype === 'int64' || repeats.dtype === 'int32', 'repeats has to be Long or Int tensor');
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

function repeatByTensor({ self, repeats, dim }: RepeatByTensor): Tensor {
  const source =
    dim === null ? views.viewed(contiguousOf(self), [-1]) : self.dim === 0 ? self.asStrided([1], [1]) : self;
  const at = wrapDim(dim ?? 0, source.dim);
  check(repeats.dim <= 1, 'repeats must be 0-dim or 1-dim tensor');
  const isOne = repeats.dim === 0 || repeats.sizes[0] === 1;
  check(
    isOne || repeats.sizes[0] === source.sizes[at],
    `repeats must have the same size as input along dim, but got repeats.size(0) = ${repeats.sizes[0]} and input.size(${at}) = ${source.sizes[at]}`,
  );
  const counts = countsOf(repeats);
  const each = isOne ? new Array<number>(source.sizes[at]).fill(counts[0]) : counts;
  const output = Tensor.empty(
    source.sizes.with(
      at,
      each.reduce((sum, count) => sum + count, 0),
    ),
    source.dtype,
  );
  views
    .pieces(output, at, each)
    .forEach((part, index) => copyInto(part, expand(views.slice(source, at, index, index + 1, 1), part.sizes)));
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

function checkRoll({ shifts, dims }: Roll): void {
  check(shifts.length > 0, '`shifts` required');
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
function copyRolled(to: Tensor, from: Tensor, shifts: readonly number[]): void {
  const dim = shifts.findIndex((shift) => shift !== 0);
  if (dim === -1) {
    copyInto(to, from);
    return;
  }
  const size = from.sizes[dim];
  const shift = shifts[dim];
  const rest = shifts.with(dim, 0);
  copyRolled(views.slice(to, dim, shift, null, 1), views.slice(from, dim, 0, size - shift, 1), rest);
  copyRolled(views.slice(to, dim, 0, shift, 1), views.slice(from, dim, size - shift, null, 1), rest);
}

const roll = kernel<Roll>('aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor', {
  shape: (args) => {
    checkRoll(args);
    return { sizes: args.self.sizes, dtype: args.self.dtype };
  },
  host: (args, [output]) => {
    if (output.numel === 0) return;
    const { from, to, shifts } = rollViews(args, output, contiguousOf);
    copyRolled(to, from, shifts);
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

/** One tensor a given vector, all of them of the same sizes: a grid's coordinates. */
function grid(tensors: readonly Tensor[], indexing: string): Tensor[] {
  check(tensors.length > 0, 'meshgrid expects a non-empty TensorList');
  check(
    indexing === 'ij' || indexing === 'xy',
    `torch.meshgrid: indexing must be one of "xy" or "ij", but received: ${indexing}`,
  );
  tensors.forEach((tensor) =>
    check(tensor.dim <= 1, () => `torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ${tensor.dim}`),
  );
  tensors.forEach((tensor) =>
    check(tensor.dtype === tensors[0].dtype, 'torch.meshgrid expects all tensors to have the same dtype'),
  );
  const swaps = indexing === 'xy' && tensors.length >= 2;
  const ordered = swaps ? [tensors[1], tensors[0], ...tensors.slice(2)] : tensors;
  const sizes = ordered.map((tensor) => tensor.numel);
  const grids = ordered.map((tensor, at) =>
    expand(
      tensor.asStrided(
        sizes.map((_, dim) => (dim === at ? tensor.numel : 1)),
        sizes.map((_, dim) => (dim === at ? (tensor.strides[0] ?? 0) : 0)),
      ),
      sizes,
    ),
  );
  return swaps ? [grids[1], grids[0], ...grids.slice(2)] : grids;
}

/** Zeros, and a tensor copied into a part of them. */
function placing<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  places: (output: Tensor, args: Args) => { part: Tensor; tensor: Tensor }[],
  forms: Forms = {},
): OperatorRow {
  return kernel<Args>(schema, {
    shape,
    host: (args, [output]) => places(output, args).forEach(({ part, tensor }) => copyInto(part, tensor)),
    lower: (args, [output], context) => {
      lowerFill(output, 0n, context, 'aten::zeros');
      for (const { part, tensor } of places(output, args)) lowerCopy(part, tensor, context);
    },
    ...forms,
  });
}

function blockDiagonalMeta({ tensors }: Tensors): TensorMeta {
  tensors.forEach((tensor, at) =>
    check(
      tensor.dim <= 2,
      `torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ${at} has ${tensor.dim} dimensions`,
    ),
  );
  const matrices = tensors.map((tensor) => raised(tensor, 2));
  const dtype = tensors.reduce<ScalarType>(
    (promoted, tensor) => promoteTypes(promoted, tensor.dtype),
    tensors[0]?.dtype ?? 'float32',
  );
  const total = (dim: number): number => matrices.reduce((sum, { sizes }) => sum + sizes[dim], 0);
  return { sizes: tensors.length === 0 ? [1, 0] : [total(0), total(1)], dtype };
}

function blockPlaces(output: Tensor, { tensors }: Tensors): { part: Tensor; tensor: Tensor }[] {
  let row = 0;
  let column = 0;
  return tensors.map((each) => {
    const tensor = raised(each, 2);
    const part = views.slice(
      views.slice(output, 0, row, row + tensor.sizes[0], 1),
      1,
      column,
      column + tensor.sizes[1],
      1,
    );
    row += tensor.sizes[0];
    column += tensor.sizes[1];
    return { part, tensor };
  });
}

interface DiagEmbed extends Self {
  readonly offset: number;
  readonly dim1: number;
  readonly dim2: number;
}

function diagEmbedMeta({ self, offset, dim1, dim2 }: DiagEmbed): TensorMeta {
  const rank = self.dim + 1;
  const [a, b] = [wrapDim(dim1, rank), wrapDim(dim2, rank)];
  check(a !== b, `diagonal dimensions cannot be identical ${dim1}, ${dim2}`);
  const size = self.sizes.at(-1)! + Math.abs(offset);
  const sizes = self.sizes.slice(0, -1);
  for (const dim of [a, b].sort((x, y) => x - y)) sizes.splice(dim, 0, size);
  return { sizes, dtype: self.dtype };
}

const diagEmbedPlaces = (
  output: Tensor,
  { self, offset, dim1, dim2 }: DiagEmbed,
): { part: Tensor; tensor: Tensor }[] => [{ part: views.diagonal(output, offset, dim1, dim2), tensor: self }];

interface Diag extends Self {
  readonly diagonal: number;
}

const diagRow = placing<Diag>(
  'aten::diag(Tensor self, int diagonal=0) -> Tensor',
  ({ self, diagonal }) => {
    check(self.dim === 1 || self.dim === 2, `diag(): Supports 1D or 2D tensors. Got ${self.dim}D`);
    if (self.dim === 1) return diagEmbedMeta({ self, offset: diagonal, dim1: 0, dim2: 1 });
    return { sizes: views.diagonal(self, diagonal, 0, 1).sizes, dtype: self.dtype };
  },
  (output, { self, diagonal }) =>
    self.dim === 1
      ? diagEmbedPlaces(output, { self, offset: diagonal, dim1: 0, dim2: 1 })
      : [{ part: output, tensor: views.diagonal(self, diagonal, 0, 1) }],
  { out: true },
);

const multiplication = arithmeticRows.find(({ schema }) => schema.startsWith('aten::mul.Tensor('))!;

/** All products of an element of one and an element of the other, as blocks. */
function kronOperands({ self, other }: Self & { other: Tensor }): { self: Tensor; other: Tensor } {
  const rank = Math.max(self.dim, other.dim);
  const padded = (tensor: Tensor): Tensor =>
    expand(tensor, [...new Array<number>(rank - tensor.dim).fill(1), ...tensor.sizes]);
  const [a, b] = [padded(self), padded(other)];
  return {
    self: a.asStrided(
      a.sizes.flatMap((size) => [size, 1]),
      a.strides.flatMap((stride) => [stride, 0]),
    ),
    other: b.asStrided(
      b.sizes.flatMap((size) => [1, size]),
      b.strides.flatMap((stride) => [0, stride]),
    ),
  };
}

const kron = kernel<Self & { other: Tensor }>('aten::kron(Tensor self, Tensor other) -> Tensor', {
  shape: (args) => {
    const { sizes, dtype } = pointwiseShape(multiplication, kronOperands(args));
    return { sizes: Array.from({ length: sizes.length / 2 }, (_, dim) => sizes[2 * dim] * sizes[2 * dim + 1]), dtype };
  },
  host: (args, [output]) =>
    runPointwise(
      multiplication,
      kronOperands(args),
      views.viewed(output, pointwiseShape(multiplication, kronOperands(args)).sizes),
    ),
  lower: (args, [output], context) =>
    lowerPointwise(
      multiplication,
      kronOperands(args),
      views.viewed(output, pointwiseShape(multiplication, kronOperands(args)).sizes),
      context,
    ),
  out: true,
});

interface ChunkCat extends Tensors {
  readonly dim: number;
  readonly num_chunks: number;
}

function chunkCatMeta({ tensors, dim, num_chunks: chunks }: ChunkCat): { meta: TensorMeta; dim: number } {
  check(chunks >= 1, '_chunk_cat expects positive num_chunks');
  check(tensors.length > 0, '_chunk_cat expects a non-empty input tensor list');
  const first = tensors[0];
  let along = dim;
  if (along < 0) {
    check(
      tensors.every((tensor) => tensor.dim === first.dim),
      '_chunk_cat expects non-negative dim when input tensors have different ndims',
    );
    along = wrapDim(along, first.dim);
  }
  for (const tensor of tensors) {
    check(along < tensor.dim, '_chunk_cat expects dim < ndim for all input tensors');
    check(
      views.sameSizes(tensor.sizes.slice(0, along), first.sizes.slice(0, along)),
      '_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors',
    );
  }
  const width = tensors.reduce((sum, tensor) => sum + chunkWidth(tensor, along, chunks), 0);
  return { meta: { sizes: [...first.sizes.slice(0, along), chunks, width], dtype: first.dtype }, dim: along };
}

/** Elements that a tensor gives to each chunk, the last one filled up. */
const chunkWidth = (tensor: Tensor, dim: number, chunks: number): number =>
  Math.ceil(tensor.sizes[dim] / chunks) * numelOf(tensor.sizes.slice(dim + 1));

function chunkPlaces(output: Tensor, args: ChunkCat): { part: Tensor; tensor: Tensor }[] {
  const { dim } = chunkCatMeta(args);
  const places: { part: Tensor; tensor: Tensor }[] = [];
  let start = 0;
  for (const tensor of args.tensors) {
    const width = chunkWidth(tensor, dim, args.num_chunks);
    const rows = Math.ceil(tensor.sizes[dim] / args.num_chunks);
    const inner = tensor.sizes.slice(dim + 1);
    const column = views.slice(output, dim + 1, start, start + width, 1);
    for (let chunk = 0; chunk * rows < tensor.sizes[dim]; chunk++) {
      const source = views.slice(tensor, dim, chunk * rows, (chunk + 1) * rows, 1);
      const line = views.select(column, dim, chunk);
      const part = views.slice(line, dim, 0, numelOf([source.sizes[dim], ...inner]), 1);
      places.push({
        part: views.viewed(part, [...part.sizes.slice(0, dim), ...source.sizes.slice(dim)]),
        tensor: source,
      });
    }
    start += width;
  }
  return places;
}

export const joiningRows: readonly OperatorRow[] = [
  ...['cat', 'concat', 'concatenate'].map((name) =>
    joining<Join>(`aten::${name}(Tensor[] tensors, int dim=0) -> Tensor`, (args) => args),
  ),
  joining('aten::stack(Tensor[] tensors, int dim=0) -> Tensor', stacked),
  stackingRow('hstack', 1, (first) => (first.dim === 1 ? 0 : 1)),
  stackingRow('vstack', 2, () => 0),
  stackingRow('row_stack', 2, () => 0),
  stackingRow('dstack', 3, () => 2),
  joining('aten::column_stack(Tensor[] tensors) -> Tensor', columns),
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
  repeatInterleave,
  kernel(
    'aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor',
    { host: repeatByTensor },
  ),
  kernel<{ repeats: Tensor }>('aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor', {
    host: ({ repeats }) => {
      check(repeats.dim === 1, 'repeat_interleave only accept 1D vector as repeat');
      const counts = countsOf(repeats);
      const positions = counts.flatMap((count, at) => new Array<number>(count).fill(at));
      const output = Tensor.empty([positions.length], repeats.dtype);
      positions.forEach((position, at) => fillInto(views.slice(output, 0, at, at + 1, 1), BigInt(position)));
      return output;
    },
  }),
  roll,
  view<Tensors>('aten::meshgrid(Tensor[] tensors) -> Tensor[]', ({ tensors }) => grid(tensors, 'ij')),
  view<Tensors & { indexing: string }>(
    'aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]',
    ({ tensors, indexing }) => grid(tensors, indexing),
  ),
  placing('aten::block_diag(Tensor[] tensors) -> Tensor', blockDiagonalMeta, blockPlaces, { out: true }),
  placing(
    'aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor',
    diagEmbedMeta,
    diagEmbedPlaces,
    { out: true },
  ),
  diagRow,
  placing<Self & { offset: number }>(
    'aten::diagflat(Tensor self, int offset=0) -> Tensor',
    ({ self, offset }) => ({
      sizes: [self.numel + Math.abs(offset), self.numel + Math.abs(offset)],
      dtype: self.dtype,
    }),
    (output, { self, offset }) => {
      const diagonal = views.diagonal(output, offset, 0, 1);
      return [{ part: views.viewed(diagonal, self.sizes), tensor: self }];
    },
  ),
  kron,
  placing<ChunkCat>(
    'aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor',
    (args) => chunkCatMeta(args).meta,
    chunkPlaces,
    { out: true },
  ),
];
