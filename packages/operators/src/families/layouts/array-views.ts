import type { Tensor } from '@cresset/tensor';
import { kernel, view } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { readScalar, scalarToBigint } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { finish, repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import type { OperatorRow } from '../../table/row.ts';
import * as views from '../views/view-functions.ts';
import type { Self } from '../views/views.ts';

/** Views under the names that NumPy has for them, and splitting into parts (ATen/native/TensorShape.cpp). */

function splitInSections(tensor: Tensor, sections: number, dim: number): views.Parts {
  check(sections > 0, `number of sections must be larger than 0, got ${sections}`);
  const at = wrapDim(dim, tensor.dim);
  const size = tensor.sizes[at];
  const larger = size % sections;
  const least = Math.floor(size / sections);
  return views.along(tensor, at, sections, (section) => ({
    start: section * least + Math.min(section, larger),
    size: least + (section < larger ? 1 : 0),
  }));
}

/** What it takes to read an index and to cut there, in operations. */
const CUT_COST = 512;

/** Cuts before each of so many indices, as `slice` reads indices. */
function* cutInPieces(tensor: Tensor, dim: number, count: number, indexAt: (at: number) => number): Pieces<Tensor[]> {
  const parts: Tensor[] = [];
  let start = 0;
  yield* repeat(count, CUT_COST, (at) => {
    const end = indexAt(at);
    parts.push(views.slice(tensor, dim, start, end, 1));
    start = end;
  });
  parts.push(views.slice(tensor, dim, start, null, 1));
  return parts;
}

function splitAtIndices(tensor: Tensor, indices: readonly number[], dim: number): Tensor[] | Pieces<Tensor[]> {
  const cut = cutInPieces(tensor, dim, indices.length, (at) => indices[at]);
  return indices.length < views.FEW_PARTS ? finish(cut) : cut;
}

/** `torch.hsplit` and its kin: along a fixed dimension. */
function splitAlong(name: string, minRank: number, dimOf: (self: Tensor) => number): OperatorRow[] {
  const checkRank = (self: Tensor): void =>
    check(
      self.dim >= minRank,
      `torch.${name} requires a tensor with at least ${minRank} dimension, but got a tensor with ${self.dim} dimensions!`,
    );
  return [
    view<Self & { sections: number }>(
      `aten::${name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]`,
      ({ self, sections }) => {
        checkRank(self);
        const dim = dimOf(self);
        check(
          sections !== 0 && self.sizes[dim] % sections === 0,
          `torch.${name} attempted to split along dimension ${dim}, but the size of the dimension ${self.sizes[dim]} is not divisible by the split_size ${sections}!`,
        );
        return views.listOf(splitInSections(self, sections, dim));
      },
    ),
    view<Self & { indices: readonly number[] }>(
      `aten::${name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]`,
      ({ self, indices }) => {
        checkRank(self);
        return splitAtIndices(self, indices, dimOf(self));
      },
    ),
  ];
}

function* splitByTensor({
  self,
  tensor_indices_or_sections: given,
  dim,
}: Self & { tensor_indices_or_sections: Tensor; dim: number }): Pieces<Tensor[]> {
  check(
    given.dtype === 'int64',
    `tensor_split expected tensor_indices_or_sections to have dtype of long, but got ${given.dtype}`,
  );
  check(
    given.dim <= 1,
    `tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor with ${given.dim} dims`,
  );
  const numberAt = (at: number): number =>
    Number(scalarToBigint(readScalar(given, given.storageOffset + at * (given.strides[0] ?? 1))));
  if (given.dim === 0) return yield* views.listInPieces(splitInSections(self, numberAt(0), dim));
  return yield* cutInPieces(self, dim, given.numel, numberAt);
}

function diagonalSizes({ A, offset, dim1, dim2 }: { A: Tensor; offset: number; dim1: number; dim2: number }): Tensor {
  return views.diagonal(A, offset, dim1, dim2);
}

interface AtLeast {
  readonly self: Tensor;
}

/** Up to `rank` dimensions, as numpy adds them. */
function atLeast(rank: number) {
  return ({ self }: AtLeast): Tensor => {
    if (self.dim >= rank) return self;
    if (self.dim === 0) return self.asStrided(new Array<number>(rank).fill(1), new Array<number>(rank).fill(1));
    if (rank === 2) return views.unsqueeze(self, 0);
    return self.dim === 1 ? views.unsqueeze(views.unsqueeze(self, 0), 2) : views.unsqueeze(self, 2);
  };
}

const atLeastRows = (rank: number): OperatorRow[] => [
  view(`aten::atleast_${rank}d(Tensor self) -> Tensor`, atLeast(rank)),
  view<{ tensors: readonly Tensor[] }>(`aten::atleast_${rank}d.Sequence(Tensor[] tensors) -> Tensor[]`, ({ tensors }) =>
    tensors.map((self) => atLeast(rank)({ self })),
  ),
];

export const arrayViewRows: readonly OperatorRow[] = [
  view<Self & { sections: number; dim: number }>(
    'aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]',
    ({ self, sections, dim }) => {
      check(self.dim > 0, 'tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims');
      return views.listOf(splitInSections(self, sections, dim));
    },
  ),
  view<Self & { indices: readonly number[]; dim: number }>(
    'aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]',
    ({ self, indices, dim }) => {
      check(self.dim > 0, 'tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims');
      return splitAtIndices(self, indices, dim);
    },
  ),
  kernel(
    'aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]',
    { host: splitByTensor },
  ),
  ...splitAlong('hsplit', 1, (self) => (self.dim === 1 ? 0 : 1)),
  ...splitAlong('vsplit', 2, () => 0),
  ...splitAlong('dsplit', 3, () => 2),
  view('aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)', diagonalSizes),
  ...[1, 2, 3].flatMap(atLeastRows),
];
