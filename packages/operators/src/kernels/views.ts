import {
  contiguousStrides,
  forEachOffset,
  numelOf,
  symAdd,
  symEq,
  symLt,
  symMul,
  symProduct,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';

/** Other views of a tensor's storage, for kernels; arguments are within range. */

/** Two dimensions exchanged. */
export function transposeView(tensor: Tensor, a: number, b: number): Tensor {
  const sizes = [...tensor.symSizes];
  const strides = [...tensor.symStrides];
  [sizes[a], sizes[b]] = [sizes[b], sizes[a]];
  [strides[a], strides[b]] = [strides[b], strides[a]];
  return tensor.asStrided(sizes, strides);
}

export function permuteView(tensor: Tensor, order: readonly number[]): Tensor {
  return tensor.asStrided(
    order.map((dim) => tensor.symSizes[dim]),
    order.map((dim) => tensor.symStrides[dim]),
  );
}

export function unsqueezeView(tensor: Tensor, dim: number): Tensor {
  return tensor.asStrided(tensor.symSizes.toSpliced(dim, 0, 1), tensor.symStrides.toSpliced(dim, 0, 0));
}

/** Dimension `dim` left out, at `index`. */
export function selectView(tensor: Tensor, dim: number, index: SymInt): Tensor {
  return tensor.asStrided(
    tensor.symSizes.toSpliced(dim, 1),
    tensor.symStrides.toSpliced(dim, 1),
    symAdd(tensor.symStorageOffset, symMul(index, tensor.symStrides[dim])),
  );
}

export function narrowView(tensor: Tensor, dim: number, start: SymInt, length: SymInt): Tensor {
  return tensor.asStrided(
    tensor.symSizes.with(dim, length),
    tensor.symStrides,
    symAdd(tensor.symStorageOffset, symMul(start, tensor.symStrides[dim])),
  );
}

/** The same elements with other sizes, or null where strides do not allow it without a copy (computeStride). */
export function reshapeView(tensor: Tensor, sizes: readonly SymInt[]): Tensor | null {
  const { symSizes, symStrides, symNumel } = tensor;
  if (!symEq(symProduct(sizes), symNumel)) return null;
  if (symEq(symNumel, 0) || tensor.isContiguous()) return tensor.asStrided(sizes, contiguousStrides(sizes));
  const strides = new Array<SymInt>(sizes.length).fill(0);
  let target = sizes.length - 1;
  let chunk = tensor.dim - 1;
  while (chunk >= 0) {
    // A chunk: neighbouring dimensions that lie in memory like one.
    const base = symStrides[chunk];
    let count = symSizes[chunk];
    while (chunk > 0 && (symEq(symSizes[chunk - 1], 1) || symEq(symStrides[chunk - 1], symMul(count, base)))) {
      chunk--;
      count = symMul(count, symSizes[chunk]);
    }
    let covered: SymInt = 1;
    while (target >= 0 && (symLt(covered, count) || symEq(sizes[target], 1))) {
      strides[target] = symMul(covered, base);
      covered = symMul(covered, sizes[target]);
      target--;
    }
    if (!symEq(covered, count)) return null;
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
  const joined = tensors.map((tensor) => ({ tensor, sizes: [...tensor.symSizes], strides: [...tensor.symStrides] }));
  for (let dim = to - 2; dim >= from; dim--) {
    const inner = joined[0].sizes[dim + 1];
    const isOne = symEq(inner, 1);
    const single = isOne || symEq(joined[0].sizes[dim], 1);
    if (!single && !joined.every(({ strides }) => symEq(strides[dim], symMul(strides[dim + 1], inner)))) continue;
    const kept = isOne ? dim : dim + 1;
    for (const { sizes, strides } of joined) {
      sizes.splice(dim, 2, symMul(sizes[dim], inner));
      strides.splice(dim, 2, strides[kept]);
    }
  }
  return joined.map(({ tensor, sizes, strides }) => tensor.asStrided(sizes, strides));
}
