import { elementSize, isComplex, isFloatingPoint, numelOf, Storage, Tensor, type IValue } from '@cresset/tensor';
import { tensorsIn, withReplaced } from '../checks/tensors-within.ts';

/** Which dimensions of a tensor become longer. `first` says whether it is the first of the arguments. */
export interface Tiling {
  readonly name: string;
  /** A dimension of size one comes before all others first. */
  readonly addsDimension?: boolean;
  readonly lengthens: (sizes: readonly number[], dim: number, first: boolean) => boolean;
}

/** What can be tiled of arguments, the likeliest to fit first. Dimensions of size one are left, since others are broadcast along them. */
export function tilingsFor(args: readonly IValue[]): readonly Tiling[] {
  const tensors = args.flatMap(tensorsIn).filter(({ numel }) => numel > 0);
  const lengths = [...new Set(tensors.flatMap(({ sizes }) => sizes))].filter((size) => size > 1);
  const outer: Tiling['lengthens'] = (sizes, dim) => dim === 0 && sizes[0] > 1;
  const inner: Tiling['lengthens'] = (sizes, dim) => dim === sizes.length - 1 && sizes[dim] > 1;
  return [
    { name: 'the first dimension', lengthens: outer },
    { name: 'the last dimension', lengthens: inner },
    { name: 'a new dimension', addsDimension: true, lengthens: (_, dim) => dim === 0 },
    { name: 'all dimensions', lengthens: (sizes, dim) => sizes[dim] > 1 },
    ...lengths.map((length): Tiling => ({
      name: `dimensions of ${length}`,
      lengthens: (sizes, dim) => sizes[dim] === length,
    })),
    ...[outer, inner].map((lengthens, at): Tiling => ({
      name: `the ${at === 0 ? 'first' : 'last'} dimension of the first tensor`,
      lengthens: (sizes, dim, first) => first && lengthens(sizes, dim, first),
    })),
    { name: 'all dimensions, of size one too', lengthens: () => true },
  ];
}

/** How many times longer a tiling makes dimensions, so that the largest tensor gets `wanted` elements; 1 where it lengthens none. */
export function timesFor(tiling: Tiling, args: readonly IValue[], wanted: number): number {
  const counts = args.flatMap(tensorsIn).flatMap((tensor, at) => {
    const { sizes } = prepared(tensor, tiling);
    const dims = sizes.filter((_, dim) => tiling.lengthens(sizes, dim, at === 0)).length;
    return dims === 0 || tensor.numel === 0 ? [] : [(wanted / tensor.numel) ** (1 / dims)];
  });
  return counts.length === 0 ? 1 : Math.max(2, Math.ceil(Math.min(...counts)));
}

/** Arguments with their tensors tiled, values in containers too. */
export function tiled(args: readonly IValue[], tiling: Tiling, times: number): IValue[] {
  const [first] = args.flatMap(tensorsIn);
  const enlarge = (tensor: Tensor): Tensor => {
    const source = prepared(tensor, tiling);
    const { sizes } = source;
    return tiledTensor(
      source,
      sizes.map((_, dim) => (tiling.lengthens(sizes, dim, tensor === first) ? times : 1)),
    );
  };
  return args.map((value) => withReplaced(value, enlarge));
}

function prepared(tensor: Tensor, { addsDimension }: Tiling): Tensor {
  if (!addsDimension) return tensor;
  const reach = tensor.sizes.reduce((sum, size, dim) => Math.max(sum, size * tensor.strides[dim]), 1);
  return tensor.asStrided([1, ...tensor.sizes], [reach, ...tensor.strides]);
}

/**
 * A tensor of so many copies along each dimension, which lies in memory in the order of the given one. Floats become a little smaller from
 * copy to copy: equal numbers would have no order among each other, and matrices no inverse.
 */
function tiledTensor(tensor: Tensor, copies: readonly number[]): Tensor {
  const sizes = tensor.sizes.map((size, dim) => size * copies[dim]);
  const { dtype } = tensor;
  const result = new Tensor(
    Storage.onHost(new ArrayBuffer(numelOf(sizes) * elementSize(dtype))),
    dtype,
    sizes,
    inOrderOf(tensor.strides, sizes),
  );
  const from = tensor.contiguousArray();
  const to = result.storageArrayForWriting();
  const total = numelOf(copies);
  const shrinks = (isFloatingPoint(dtype) || isComplex(dtype)) && elementSize(dtype) > 2;
  const width = isComplex(dtype) ? 2 : 1;
  const at = sizes.map(() => 0);
  for (let position = 0; position < result.numel; position++) {
    let [source, target, copy] = [0, 0, 0];
    for (const [dim, place] of at.entries()) {
      const size = tensor.sizes[dim];
      source = source * size + (place % size);
      copy = copy * copies[dim] + Math.floor(place / size);
      target += place * result.strides[dim];
    }
    for (let part = 0; part < width; part++) {
      const value = from[source * width + part];
      to[target * width + part] = shrinks ? Number(value) * (1 - copy / (8 * total)) : value;
    }
    for (let dim = at.length - 1; dim >= 0 && ++at[dim] === sizes[dim]; dim--) at[dim] = 0;
  }
  return result;
}

/** Dense strides whose order is that of the given ones. */
function inOrderOf(strides: readonly number[], sizes: readonly number[]): number[] {
  const innermostFirst = sizes.map((_, dim) => dim).sort((a, b) => strides[a] - strides[b] || b - a);
  const dense = sizes.map(() => 0);
  let step = 1;
  for (const dim of innermostFirst) {
    dense[dim] = step;
    step *= sizes[dim];
  }
  return dense;
}
