import { symSame, numelOf, promoteTypes, type ScalarType, type Tensor, settleAll, symMul } from '@cresset/tensor';
import { expand } from '../../kernels/broadcast.ts';
import { kernel, type Forms } from '../../table/builders.ts';
import { copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { lowerFill } from '../../kernels/fill.ts';
import { lowerPointwise, pointwiseShape, pointwisePieces } from '../../kernels/loops/pointwise.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { arithmeticRows } from '../pointwise/arithmetic.ts';
import * as views from '../views/view-functions.ts';
import { raised } from '../arranging/joining.ts';

/** Tensors placed on diagonals, in blocks and in chunks (ATen/native/TensorShape.cpp). */

interface Self {
  readonly self: Tensor;
}

interface Tensors {
  readonly tensors: readonly Tensor[];
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
    *host(args, [output]) {
      for (const { part, tensor } of places(output, args)) yield* copyPieces(part, tensor);
    },
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
    return {
      sizes: Array.from({ length: sizes.length / 2 }, (_, dim) => symMul(sizes[2 * dim], sizes[2 * dim + 1])),
      dtype,
    };
  },
  host: (args, [output]) =>
    pointwisePieces(
      multiplication,
      kronOperands(args),
      views.viewed(output, settleAll(pointwiseShape(multiplication, kronOperands(args)).sizes)),
    ),
  lower: (args, [output], context) =>
    lowerPointwise(
      multiplication,
      kronOperands(args),
      views.viewed(output, settleAll(pointwiseShape(multiplication, kronOperands(args)).sizes)),
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
  check(
    tensors.every(({ dtype }) => dtype === first.dtype),
    '_chunk_cat expects all input tensors with the same dtype',
  );
  for (const tensor of tensors) {
    check(tensor.numel > 0, '_chunk_cat expects non-empty tensor');
    check(along < tensor.dim, '_chunk_cat expects dim < ndim for all input tensors');
    check(
      symSame(tensor.sizes.slice(0, along), first.sizes.slice(0, along)),
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

export const placingRows: readonly OperatorRow[] = [
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
