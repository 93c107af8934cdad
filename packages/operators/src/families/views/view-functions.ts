import {
  symSame,
  contiguousStrides,
  elementSize,
  numelOf,
  settle,
  settleAll,
  symAdd,
  symCeilDiv,
  symEq,
  symFloorDiv,
  symGe,
  symLe,
  symLt,
  symMax,
  symMin,
  symMod,
  symMul,
  symProduct,
  symSub,
  textOf,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import { inferSize, sizesText, wrapDim, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { finish, repeat, type Pieces } from '../../kernels/loops/pieces.ts';

/** Views by name, as functions of kernels' arguments (ATen/native/TensorShape.cpp). They throw PyTorch's errors. */

/** Strides that show a tensor's elements with `sizes`, null where that takes a copy (at::detail::computeStride). */
export function viewStrides(tensor: Tensor, sizes: readonly SymInt[]): SymInt[] | null {
  const { symSizes, symStrides } = tensor;
  if (symEq(tensor.symNumel, 0))
    return symSame(tensor.sizes, settleAll(sizes)) ? [...tensor.strides] : contiguousStrides(sizes);
  const strides = new Array<SymInt>(sizes.length);
  let viewDim = sizes.length - 1;
  let base = symStrides.at(-1) ?? 1;
  let tensorCount: SymInt = 1;
  let viewCount: SymInt = 1;
  // Each stretch of dimensions that lie in memory without gaps is filled with as many dimensions of the view.
  for (let dim = tensor.dim - 1; dim >= 0; dim--) {
    tensorCount = symMul(tensorCount, symSizes[dim]);
    const isLast = dim === 0;
    const ends = isLast || (!symEq(symSizes[dim - 1], 1) && !symEq(symStrides[dim - 1], symMul(tensorCount, base)));
    if (!ends) continue;
    while (viewDim >= 0 && (symLt(viewCount, tensorCount) || symEq(sizes[viewDim], 1))) {
      strides[viewDim] = symMul(viewCount, base);
      viewCount = symMul(viewCount, sizes[viewDim]);
      viewDim--;
    }
    if (!symEq(viewCount, tensorCount)) return null;
    if (!isLast) {
      base = symStrides[dim - 1];
      tensorCount = 1;
      viewCount = 1;
    }
  }
  // A 0-dim tensor has no stretch; what is left can only be of size 1.
  for (; viewDim >= 0; viewDim--) strides[viewDim] = 1;
  return strides;
}

/** A view with the sizes asked for (one may be -1), null where it takes a copy. */
export function tryView(tensor: Tensor, shape: readonly SymInt[]): Tensor | null {
  const sizes = inferSize(shape, tensor.symNumel);
  const strides = viewStrides(tensor, sizes);
  return strides && tensor.asStrided(sizes, strides);
}

export function viewed(tensor: Tensor, shape: readonly SymInt[]): Tensor {
  const view = tryView(tensor, shape);
  check(
    view !== null,
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
  );
  return view;
}

export function permute(tensor: Tensor, dims: readonly number[]): Tensor {
  check(
    dims.length === tensor.dim,
    () =>
      `permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = ${tensor.dim} is not equal to len(dims) = ${dims.length}`,
  );
  const order = dims.map((dim) => wrapDim(dim, tensor.dim));
  check(new Set(order).size === order.length, 'permute(): duplicate dims are not allowed.');
  return tensor.asStrided(
    order.map((dim) => tensor.symSizes[dim]),
    order.map((dim) => tensor.symStrides[dim]),
  );
}

export function transpose(tensor: Tensor, dim0: number, dim1: number): Tensor {
  const a = wrapDim(dim0, tensor.dim);
  const b = wrapDim(dim1, tensor.dim);
  const order = tensor.symSizes.map((_, dim) => (dim === a ? b : dim === b ? a : dim));
  return permute(tensor, order);
}

/** The matrix transposed; vectors and 0-dim tensors stay. */
export function matrixTranspose(tensor: Tensor, name = 't'): Tensor {
  check(tensor.dim <= 2, () => `${name}() expects a tensor with <= 2 dimensions, but self is ${tensor.dim}D`);
  return tensor.dim < 2 ? tensor.asStrided(tensor.symSizes, tensor.symStrides) : transpose(tensor, 0, 1);
}

export function squeeze(tensor: Tensor, dims: readonly number[] | null): Tensor {
  const chosen = dims === null ? null : dims.map((dim) => wrapDim(dim, tensor.dim));
  chosen?.forEach((dim, at) =>
    check(chosen.indexOf(dim) === at, `dim ${dim} appears multiple times in the list of dims`),
  );
  const { symSizes: sizes, symStrides: strides } = tensor;
  const kept = [...sizes.keys()].filter((dim) => (chosen !== null && !chosen.includes(dim)) || !symEq(sizes[dim], 1));
  return tensor.asStrided(
    kept.map((dim) => sizes[dim]),
    kept.map((dim) => strides[dim]),
  );
}

export function unsqueeze(tensor: Tensor, dim: number): Tensor {
  const at = wrapDim(dim, tensor.dim + 1);
  const { symSizes: sizes, symStrides: strides } = tensor;
  const stride = at >= tensor.dim ? 1 : symMul(sizes[at], strides[at]);
  return tensor.asStrided(sizes.toSpliced(at, 0, 1), strides.toSpliced(at, 0, stride));
}

export function select(tensor: Tensor, dim: number, index: SymInt): Tensor {
  check(tensor.dim > 0, 'select() cannot be applied to a 0-dim tensor.', 'IndexError');
  const at = wrapDim(dim, tensor.dim);
  const { symSizes: sizes, symStrides: strides } = tensor;
  const size = sizes[at];
  check(
    symGe(symAdd(index, size), 0) && symLt(index, size),
    () =>
      `select(): index ${textOf(index)} out of range for tensor of size ${sizesText(tensor.sizes)} at dimension ${at}`,
    'IndexError',
  );
  const from = symLt(index, 0) ? symAdd(index, size) : index;
  return tensor.asStrided(
    sizes.toSpliced(at, 1),
    strides.toSpliced(at, 1),
    symAdd(tensor.symStorageOffset, symMul(from, strides[at])),
  );
}

/** `tensor[start:end:step]` along a dimension; bounds past the ends are cut to them. */
export function slice(tensor: Tensor, dim: number, start: SymInt | null, end: SymInt | null, step: SymInt): Tensor {
  check(tensor.dim > 0, 'slice() cannot be applied to a 0-dim tensor.');
  check(symLt(0, step), 'slice step must be positive');
  const at = wrapDim(dim, tensor.dim);
  const { symSizes: sizes, symStrides: strides } = tensor;
  const size = sizes[at];
  const bound = (value: SymInt): SymInt => symMin(symMax(symLt(value, 0) ? symAdd(value, size) : value, 0), size);
  const from = bound(start ?? 0);
  const to = symMax(bound(end ?? size), from);
  const length = symSub(to, from);
  return tensor.asStrided(
    sizes.with(at, step === 1 ? length : symFloorDiv(symAdd(length, symSub(step, 1)), step)),
    strides.with(at, symMul(strides[at], step)),
    symAdd(tensor.symStorageOffset, symMul(from, strides[at])),
  );
}

export function narrow(tensor: Tensor, dim: number, start: SymInt, length: SymInt): Tensor {
  check(tensor.dim > 0, 'narrow() cannot be applied to a 0-dim tensor.');
  check(symGe(length, 0), 'narrow(): length must be non-negative.');
  const at = wrapDim(dim, tensor.dim);
  const size = tensor.symSizes[at];
  check(
    symGe(symAdd(start, size), 0) && symLe(start, size),
    () =>
      `start out of range (expected to be in range of [-${textOf(size)}, ${textOf(size)}], but got ${textOf(start)})`,
    'IndexError',
  );
  const from = symLt(start, 0) ? symAdd(start, size) : start;
  check(
    symLe(symAdd(from, length), size),
    () => `start (${textOf(from)}) + length (${textOf(length)}) exceeds dimension size (${textOf(size)}).`,
  );
  return slice(tensor, at, from, symAdd(from, length), 1);
}

/** Views of a tensor that lie one after the other, made when they are asked for: there may be millions. */
export interface Parts {
  readonly count: number;
  readonly at: (index: number) => Tensor;
}

/** Parts that are made at once. */
export const FEW_PARTS = 1 << 12;

/** What making a part takes, in operations. */
const PART_COST = 1 << 8;

/** All parts; in pieces where they are many. */
export const listOf = (parts: Parts): Tensor[] | Pieces<Tensor[]> =>
  parts.count <= FEW_PARTS ? finish(listInPieces(parts)) : listInPieces(parts);

export function* listInPieces({ count, at }: Parts): Pieces<Tensor[]> {
  const list: Tensor[] = [];
  yield* repeat(count, PART_COST, (index) => void list.push(at(index)));
  return list;
}

/** Where a part lies along its dimension. */
interface Stretch {
  readonly start: SymInt;
  readonly size: SymInt;
}

/** Parts along a dimension that lie where `stretchOf` says. */
export function along(tensor: Tensor, dim: number, count: number, stretchOf: (index: number) => Stretch): Parts {
  const { symSizes: sizes, symStrides: strides, symStorageOffset: storageOffset } = tensor;
  // Most are as large as the one before: views share their lists of sizes.
  let known = sizes;
  return {
    count,
    at: (index) => {
      const { start, size } = stretchOf(index);
      if (known[dim] !== size) known = sizes.with(dim, size);
      return tensor.asStrided(known, strides, symAdd(storageOffset, symMul(start, strides[dim])));
    },
  };
}

/** Neighbouring pieces of the sizes given. */
export function pieces(tensor: Tensor, dim: number, sizes: readonly SymInt[]): Parts {
  let end: SymInt = 0;
  const starts = sizes.map((size) => {
    const start = end;
    end = symAdd(end, size);
    return start;
  });
  return along(tensor, dim, sizes.length, (index) => ({ start: starts[index], size: sizes[index] }));
}

export function split(tensor: Tensor, splitSize: SymInt, dim: number): Parts {
  check(tensor.dim > 0, 'split expects at least a 1-dimensional tensor');
  check(symGe(splitSize, 0), () => `split expects split_size be non-negative, but got split_size=${textOf(splitSize)}`);
  const at = wrapDim(dim, tensor.dim);
  const size = tensor.symSizes[at];
  const isNone = symEq(splitSize, 0);
  check(
    !isNone || symEq(size, 0),
    () => `split_size can only be 0 if dimension size is 0, but got dimension size of ${textOf(size)}`,
  );
  const count = isNone ? 1 : Math.max(settle(symCeilDiv(size, splitSize)), 1);
  return along(tensor, at, count, (index) => {
    const start = symMul(splitSize, index);
    return { start, size: index < count - 1 ? splitSize : symSub(size, start) };
  });
}

export function splitWithSizes(tensor: Tensor, sizes: readonly number[], dim: number): Parts {
  check(tensor.dim > 0, 'split expects at least a 1-dimensional tensor');
  const at = wrapDim(dim, tensor.dim);
  check(
    sizes.every((size) => size >= 0),
    () =>
      `split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=${sizesText(sizes)}`,
  );
  check(
    symEq(
      sizes.reduce((sum, size) => sum + size, 0),
      tensor.symSizes[at],
    ),
    () =>
      `split_with_sizes expects split_sizes to sum exactly to ${textOf(tensor.symSizes[at])} (input tensor's size at dimension ${at}), but got split_sizes=${sizesText(sizes)}`,
  );
  return pieces(tensor, at, sizes);
}

export function chunk(tensor: Tensor, chunks: number, dim: number): Parts {
  check(tensor.dim > 0, 'chunk expects at least a 1-dimensional tensor');
  check(chunks > 0, `chunk expects \`chunks\` to be greater than 0, got: ${chunks}`);
  const at = wrapDim(dim, tensor.dim);
  const size = tensor.symSizes[at];
  const splitSize = symCeilDiv(size, chunks);
  // An empty dimension cannot tell the number of chunks by their size.
  if (symEq(size, 0)) return pieces(tensor, at, new Array<number>(chunks).fill(0));
  return split(tensor, splitSize, at);
}

export function unbind(tensor: Tensor, dim: number): Parts {
  const along = wrapDimOfRanked(dim, tensor.dim);
  const [sizes, strides] = [tensor.symSizes.toSpliced(along, 1), tensor.symStrides.toSpliced(along, 1)];
  const { symStorageOffset: offset } = tensor;
  const stride = tensor.symStrides[along];
  return {
    count: settle(tensor.symSizes[along]),
    at: (index) => tensor.asStrided(sizes, strides, symAdd(offset, symMul(stride, index))),
  };
}

/** The sizes with a stretch of dimensions made one. */
export function flattenedSizes(tensor: Tensor, startDim: number, endDim: number): SymInt[] {
  const start = wrapDim(startDim, tensor.dim);
  const end = wrapDim(endDim, tensor.dim);
  check(start <= end, 'flatten() has invalid args: start_dim cannot come after end_dim');
  if (tensor.dim === 0) return [1];
  const { symSizes: sizes } = tensor;
  return [...sizes.slice(0, start), symProduct(sizes.slice(start, end + 1)), ...sizes.slice(end + 1)];
}

export function unflatten(tensor: Tensor, dim: number, sizes: readonly number[]): Tensor {
  const at = wrapDim(dim, tensor.dim);
  check(sizes.length > 0, 'unflatten: sizes must be non-empty');
  const size = tensor.symSizes[at];
  const known = numelOf(sizes.filter((each) => each !== -1));
  const inferred = sizes.filter((each) => each === -1).length;
  check(inferred <= 1, 'only one dimension can be inferred');
  check(
    inferred === 1 ? known !== 0 && symEq(symMod(size, known), 0) : symEq(size, known),
    () =>
      `unflatten: Provided sizes ${sizesText(sizes)} don't multiply up to the size of dim ${at} (${textOf(size)}) in the input tensor`,
  );
  const whole = sizes.map((each) => (each === -1 ? symFloorDiv(size, known) : each));
  return viewed(tensor, [...tensor.symSizes.slice(0, at), ...whole, ...tensor.symSizes.slice(at + 1)]);
}

/** All windows of `size` elements, `step` apart, in a new last dimension. */
export function unfold(tensor: Tensor, dimension: number, size: number, step: number): Tensor {
  const at = wrapDim(dimension, tensor.dim);
  const { symSizes: sizes, symStrides: strides } = tensor;
  const extent = sizes[at] ?? 1;
  check(size >= 0, `size is ${size} but must be >= 0`);
  check(
    symLe(size, extent),
    () => `maximum size for tensor at dimension ${at} is ${textOf(extent)} but size is ${size}`,
  );
  check(step > 0, `step is ${step} but must be > 0`);
  if (tensor.dim === 0) return tensor.asStrided([size], [1]);
  return tensor.asStrided(
    [...sizes.with(at, symAdd(symFloorDiv(symSub(extent, size), step), 1)), size],
    [...strides.with(at, symMul(strides[at], step)), strides[at]],
  );
}

export function asStrided(
  tensor: Tensor,
  sizes: readonly number[],
  strides: readonly number[],
  offset: number | null,
): Tensor {
  check(sizes.length === strides.length, 'mismatch in length of strides and shape');
  check(
    strides.every((stride) => stride >= 0),
    () => `as_strided: Negative strides are not supported at the moment, got strides: ${sizesText(strides)}`,
  );
  const start = offset ?? tensor.storageOffset;
  check(start >= 0, `Tensor: invalid storage offset ${start}`);
  const last = sizes.reduce((sum, size, dim) => sum + (size - 1) * strides[dim], start);
  const itemSize = elementSize(tensor.dtype);
  const held = tensor.storage.guardedByteLength;
  check(
    sizes.includes(0) || (last + 1) * itemSize <= held,
    () =>
      `setStorage: sizes ${sizesText(sizes)}, strides ${sizesText(strides)}, storage offset ${start}, and itemsize ${itemSize} requiring a storage size of ${(last + 1) * itemSize} are out of bounds for storage of size ${held}`,
  );
  return tensor.asStrided(sizes, strides, start);
}

/** The diagonal of two dimensions as a new last one. */
export function diagonal(tensor: Tensor, offset: number, dim1: number, dim2: number): Tensor {
  const a = wrapDim(dim1, tensor.dim);
  const b = wrapDim(dim2, tensor.dim);
  check(a !== b, `diagonal dimensions cannot be identical ${dim1}, ${dim2}`);
  const { symSizes: sizes, symStrides: strides } = tensor;
  const size = symMax(
    offset >= 0 ? symMin(sizes[a], symSub(sizes[b], offset)) : symMin(symAdd(sizes[a], offset), sizes[b]),
    0,
  );
  const start = symEq(size, 0) ? 0 : symMul(strides[offset >= 0 ? b : a], Math.abs(offset));
  const others = sizes.map((_, dim) => dim).filter((dim) => dim !== a && dim !== b);
  return tensor.asStrided(
    [...others.map((dim) => sizes[dim]), size],
    [...others.map((dim) => strides[dim]), symAdd(strides[a], strides[b])],
    symAdd(tensor.symStorageOffset, start),
  );
}

export function movedim(tensor: Tensor, source: readonly number[], destination: readonly number[]): Tensor {
  check(
    source.length === destination.length,
    () =>
      `movedim: Invalid source or destination dims: source (${sizesText(source)} dims) should contain the same number of dims as destination (${sizesText(destination)} dims)`,
  );
  const from = source.map((dim) => wrapDim(dim, tensor.dim));
  const to = destination.map((dim) => wrapDim(dim, tensor.dim));
  check(new Set(from).size === from.length, () => `movedim: repeated dim in \`source\` (${sizesText(source)})`);
  check(new Set(to).size === to.length, () => `movedim: repeated dim in \`destination\` (${sizesText(destination)})`);
  if (tensor.dim === 0) return tensor.asStrided([], []);
  const order = new Array<number>(tensor.dim).fill(-1);
  to.forEach((dim, at) => (order[dim] = from[at]));
  const rest = tensor.symSizes.map((_, dim) => dim).filter((dim) => !from.includes(dim));
  return permute(
    tensor,
    order.map((dim) => (dim === -1 ? rest.shift()! : dim)),
  );
}
