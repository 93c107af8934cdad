import {
  symAdd,
  symCompare,
  symEq,
  symGt,
  symLt,
  symMax,
  symMul,
  type SymInt,
  type Tensor,
  settleAll,
  symFloorDiv,
  symGe,
  symMod,
  symSame,
  symSub,
  textOf,
} from '@cresset/tensor';
import type { HostContext } from '../table/row.ts';
import { check, OperatorError } from './errors.ts';

/** A dimension counted from the end made one from the front (c10::maybe_wrap_dim). A 0-dim tensor has dimension 0 and -1. */
export function wrapDim(dim: number, rank: number): number {
  const limit = rank === 0 ? 1 : rank;
  if (dim < -limit || dim >= limit) {
    throw new OperatorError(
      `Dimension out of range (expected to be in range of [${-limit}, ${limit - 1}], but got ${dim})`,
      'IndexError',
    );
  }
  return dim < 0 ? dim + limit : dim;
}

/** As `wrapDim`, for operators that refuse 0-dim tensors (maybe_wrap_dim with wrap_scalar false). */
export function wrapDimOfRanked(dim: number, rank: number): number {
  check(rank > 0, `Dimension specified as ${dim} but tensor has no dimensions`, 'IndexError');
  return wrapDim(dim, rank);
}

/** Wraps each dimension and refuses repetitions (dim_list_to_bitset). */
export function wrapDims(dims: readonly number[], rank: number): number[] {
  const wrapped = dims.map((dim) => wrapDim(dim, rank));
  wrapped.forEach((dim, at) => {
    check(wrapped.indexOf(dim) === at, `dim ${dim} appears multiple times in the list of dims`);
  });
  return wrapped;
}

/** The dimensions a reduction goes over, ascending: all of them where none are given. */
export function reducedDims(dims: readonly number[] | null, rank: number): number[] {
  check(rank <= 64, 'only tensors with up to 64 dims are supported');
  if (dims === null || dims.length === 0) return Array.from({ length: rank }, (_, dim) => dim);
  return wrapDims(dims, rank)
    .filter((dim) => dim < rank)
    .sort((a, b) => a - b);
}

/** Sizes after reducing over `dims` (wrapped). */
export function reducedSizes(sizes: readonly number[], dims: readonly number[], keepdim: boolean): number[];
export function reducedSizes(sizes: readonly SymInt[], dims: readonly number[], keepdim: boolean): SymInt[];
export function reducedSizes(sizes: readonly SymInt[], dims: readonly number[], keepdim: boolean): SymInt[] {
  if (keepdim) return sizes.map((size, dim) => (dims.includes(dim) ? 1 : size));
  return sizes.filter((_, dim) => !dims.includes(dim));
}

/** `[2, 3]`, as PyTorch prints sizes. */
export function sizesText(sizes: readonly number[]): string {
  return `[${sizes.join(', ')}]`;
}

/** Resolves one -1 in `shape` so that it has `numel` elements (at::infer_size). */
export function inferSize(shape: readonly number[], numel: number): number[];
export function inferSize(shape: readonly SymInt[], numel: SymInt): SymInt[];
export function inferSize(shape: readonly SymInt[], numel: SymInt): SymInt[] {
  let inferred = -1;
  let known: SymInt = 1;
  const text = (): string => sizesText(settleAll(shape));
  shape.forEach((size, dim) => {
    if (size === -1) {
      check(inferred === -1, 'only one dimension can be inferred');
      inferred = dim;
    } else {
      check(symGe(size, 0), () => `invalid shape dimension ${textOf(size)} at index ${dim} of shape ${text()}`);
      known = symMul(known, size);
    }
  });
  const fits =
    inferred === -1 ? symEq(known, numel) : symEq(known, numel) || (symGt(known, 0) && symEq(symMod(numel, known), 0));
  check(fits, () => `shape '${text()}' is invalid for input of size ${textOf(numel)}`);
  const result = [...shape];
  if (inferred !== -1) {
    check(
      !symEq(known, 0),
      () =>
        `cannot reshape tensor of 0 elements into shape ${text()} because the unspecified dimension size -1 can be any value and is ambiguous`,
    );
    result[inferred] = symFloorDiv(numel, known);
  }
  return result;
}

/** Refuses negative sizes, as `empty` does. */
export function checkSizes(sizes: readonly SymInt[]): void {
  const negative = sizes.find((size) => symLt(size, 0));
  check(
    negative === undefined,
    () => `Trying to create tensor with negative dimension ${textOf(negative!)}: ${sizesText(settleAll(sizes))}`,
  );
}

/** Whether every element has its own place in memory and no place between them is left out. */
export function isNonOverlappingAndDense(tensor: Tensor): boolean {
  if (tensor.isContiguous()) return true;
  const { symSizes: sizes, symStrides: strides } = tensor;
  const order = sizes
    .map((_, dim) => dim)
    .filter((dim) => !symEq(sizes[dim], 1))
    .sort((a, b) => symCompare(strides[a], strides[b]));
  let expected: SymInt = 1;
  for (const dim of order) {
    if (!symEq(strides[dim], expected)) return false;
    expected = symMul(expected, sizes[dim]);
  }
  return true;
}

/** Whether two index tuples may name the same place. Only the certain case counts, as in at::has_internal_overlap. */
export function overlapsItself({ symSizes: sizes, symStrides: strides }: Tensor): boolean {
  return strides.some((stride, dim) => stride === 0 && symGt(sizes[dim], 1));
}

/** Refuses to write to a tensor with expanded dimensions (at::assert_no_internal_overlap). */
export function assertNoInternalOverlap(tensor: Tensor): void {
  check(
    !overlapsItself(tensor),
    'unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.',
  );
}

/** Says what PyTorch says where it writes to a tensor with expanded dimensions all the same. */
export function warnOfExpanded(operator: string, example: string, context: Pick<HostContext, 'warn'>): void {
  context.warn(
    `Use of ${operator} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. ` +
      `This also applies to advanced indexing e.g. ${example}`,
  );
}

/** Whether the memory of both meets without being the same elements (at::get_overlap_status is Partial). */
export function overlapsPartially(a: Tensor, b: Tensor): boolean {
  if (a === b || a.storage !== b.storage || symEq(a.symNumel, 0) || symEq(b.symNumel, 0)) return false;
  if (!isNonOverlappingAndDense(a) || !isNonOverlappingAndDense(b)) return false;
  const same =
    a.storageOffset === b.storageOffset &&
    a.numel === b.numel &&
    a.strides.every((stride, dim) => stride === b.strides[dim] || a.sizes[dim] === 1);
  if (same) return false;
  return a.storageOffset < b.storageOffset + b.numel && b.storageOffset < a.storageOffset + a.numel;
}

/**
 * Whether a tensor that is written may be read at other places meanwhile, through a view that lies otherwise in the same memory. PyTorch refuses those
 * of which it is certain, and reads the others in the order of its loops: here all is read before anything is written.
 */
export function meetsElsewhere(written: Tensor, read: Tensor): boolean {
  if (written === read || written.storage !== read.storage) return false;
  if (written.openOffset || read.openOffset) return true;
  const isAlike =
    symEq(written.symStorageOffset, read.symStorageOffset) &&
    symSame(written.symSizes, read.symSizes) &&
    symSame(written.symStrides, read.symStrides);
  return !isAlike && symLt(written.symStorageOffset, endOf(read)) && symLt(read.symStorageOffset, endOf(written));
}

/** Behind the last element of a tensor, in elements of its storage. */
const endOf = ({ symSizes: sizes, symStrides: strides, symStorageOffset }: Tensor): SymInt =>
  strides.reduce<SymInt>(
    (end, stride, dim) => symAdd(end, symMul(symSub(sizes[dim], 1), stride)),
    symAdd(symStorageOffset, 1),
  );

/** As `assertNoInternalOverlap`, for a tensor written while another one is read; where they may not be the same either,
 * `strictly` (at::assert_no_partial_overlap, at::assert_no_overlap). */
export function assertNoOverlap(written: Tensor, read: Tensor, strictly: boolean): void {
  const isSame = strictly && written.storage === read.storage && written.storageOffset === read.storageOffset;
  check(
    !overlapsPartially(written, read) && !(isSame && read.numel > 0),
    'unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please clone() the tensor before performing the operation.',
  );
}

/** Strides with the dense layout of `like`: dimensions stay in its order of strides (at::infer_dense_strides). */
export function denseStridesLike(like: Tensor): readonly SymInt[] {
  const { symSizes: sizes, symStrides: strides } = like;
  return isNonOverlappingAndDense(like) ? strides : stridesInOrder(sizes, strideOrder(sizes, [strides]));
}

/** Dimensions from the fastest to the slowest, by the operands' strides (TensorIterator::reorder_dimensions). */
export function strideOrder(sizes: readonly SymInt[], operands: readonly (readonly SymInt[])[]): number[] {
  const order = sizes.map((_, dim) => sizes.length - 1 - dim);
  const compare = (a: number, b: number): number => {
    for (const strides of operands) {
      if (symEq(strides[a], 0) || symEq(strides[b], 0)) continue;
      if (!symEq(strides[a], strides[b])) return symLt(strides[a], strides[b]) ? -1 : 1;
      if (symGt(sizes[a], sizes[b])) return 1;
    }
    return 0;
  };
  // An insertion sort that leaves incomparable dimensions where they are: the comparison is no total order.
  for (let at = 1; at < order.length; at++) {
    let moving = at;
    for (let against = at - 1; against >= 0; against--) {
      const comparison = compare(order[against], order[moving]);
      if (comparison > 0) {
        [order[against], order[moving]] = [order[moving], order[against]];
        moving = against;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

/** Dense strides where dimension `order[0]` is the fastest. */
export function stridesInOrder(sizes: readonly number[], order: readonly number[]): number[];
export function stridesInOrder(sizes: readonly SymInt[], order: readonly number[]): SymInt[];
export function stridesInOrder(sizes: readonly SymInt[], order: readonly number[]): SymInt[] {
  const strides = new Array<SymInt>(sizes.length);
  let stride: SymInt = 1;
  for (const dim of order) {
    strides[dim] = stride;
    stride = symMul(stride, symMax(sizes[dim], 1));
  }
  return strides;
}

/** Strides in elements for a memory format: 1 is channels last (2d), 2 channels last (3d). */
export function channelsLastStrides(sizes: readonly number[]): number[] {
  const spatial = sizes.map((_, dim) => dim).slice(2);
  return stridesInOrder(sizes, [1, ...spatial.reverse(), 0]);
}
