import { contiguousStrides, forEachOffset, numelOf, type Tensor } from '@cresset/tensor';

/** Other views of a tensor's storage, for kernels; arguments are within range. */

/** Two dimensions exchanged. */
export function transposeView(tensor: Tensor, a: number, b: number): Tensor {
  const sizes = [...tensor.sizes];
  const strides = [...tensor.strides];
  [sizes[a], sizes[b]] = [sizes[b], sizes[a]];
  [strides[a], strides[b]] = [strides[b], strides[a]];
  return tensor.asStrided(sizes, strides);
}

export function permuteView(tensor: Tensor, order: readonly number[]): Tensor {
  return tensor.asStrided(
    order.map((dim) => tensor.sizes[dim]),
    order.map((dim) => tensor.strides[dim]),
  );
}

export function unsqueezeView(tensor: Tensor, dim: number): Tensor {
  return tensor.asStrided(tensor.sizes.toSpliced(dim, 0, 1), tensor.strides.toSpliced(dim, 0, 0));
}

/** Dimension `dim` left out, at `index`. */
export function selectView(tensor: Tensor, dim: number, index: number): Tensor {
  return tensor.asStrided(
    tensor.sizes.toSpliced(dim, 1),
    tensor.strides.toSpliced(dim, 1),
    tensor.storageOffset + index * tensor.strides[dim],
  );
}

export function narrowView(tensor: Tensor, dim: number, start: number, length: number): Tensor {
  return tensor.asStrided(
    tensor.sizes.with(dim, length),
    tensor.strides,
    tensor.storageOffset + start * tensor.strides[dim],
  );
}

/** The same elements with other sizes, or null where strides do not allow it without a copy (computeStride). */
export function reshapeView(tensor: Tensor, sizes: readonly number[]): Tensor | null {
  if (numelOf(sizes) !== tensor.numel) return null;
  if (tensor.numel === 0 || tensor.isContiguous()) return tensor.asStrided(sizes, contiguousStrides(sizes));
  const strides = new Array<number>(sizes.length).fill(0);
  let target = sizes.length - 1;
  let chunk = tensor.dim - 1;
  while (chunk >= 0) {
    // A chunk: neighbouring dimensions that lie in memory like one.
    const base = tensor.strides[chunk];
    let count = tensor.sizes[chunk];
    while (chunk > 0 && (tensor.sizes[chunk - 1] === 1 || tensor.strides[chunk - 1] === count * base)) {
      chunk--;
      count *= tensor.sizes[chunk];
    }
    let covered = 1;
    while (target >= 0 && (covered < count || sizes[target] === 1)) {
      strides[target] = covered * base;
      covered *= sizes[target];
      target--;
    }
    if (covered !== count) return null;
    chunk--;
  }
  return target < 0 ? tensor.asStrided(sizes, strides) : null;
}

/** Positions in memory: of 32 bits where these are enough. */
export type Offsets = Int32Array | Float64Array;

/** The storage offset of every index into these dimensions, C order, counted from `start`. */
export function offsetsOf(sizes: readonly number[], strides: readonly number[], start = 0): Offsets {
  const last = sizes.reduce((offset, size, dim) => offset + (size - 1) * strides[dim], start);
  const offsets = new (last < 2 ** 31 ? Int32Array : Float64Array)(numelOf(sizes));
  let position = 0;
  forEachOffset(sizes, strides, start, (offset) => (offsets[position++] = offset));
  return offsets;
}

/** Dimensions `from` up to `to` joined where in every tensor (all of the same sizes there) they lie in memory like one. */
export function joinDimensions(tensors: readonly Tensor[], from: number, to: number): Tensor[] {
  const joined = tensors.map((tensor) => ({ tensor, sizes: [...tensor.sizes], strides: [...tensor.strides] }));
  for (let dim = to - 2; dim >= from; dim--) {
    const inner = joined[0].sizes[dim + 1];
    const single = joined[0].sizes[dim] === 1 || inner === 1;
    if (!single && joined.some(({ strides }) => strides[dim] !== strides[dim + 1] * inner)) continue;
    const kept = inner === 1 ? dim : dim + 1;
    for (const { sizes, strides } of joined) {
      sizes.splice(dim, 2, sizes[dim] * inner);
      strides.splice(dim, 2, strides[kept]);
    }
  }
  return joined.map(({ tensor, sizes, strides }) => tensor.asStrided(sizes, strides));
}
