/** Element types of the bench's inputs and answers. */
export type BenchDType = 'float32' | 'int64' | 'int32' | 'bool';

/** A tensor on the host, in C order. */
export interface BenchTensor {
  readonly dtype: BenchDType;
  readonly shape: readonly number[];
  readonly data:
    | Float32Array<ArrayBuffer>
    | BigInt64Array<ArrayBuffer>
    | Int32Array<ArrayBuffer>
    | Uint8Array<ArrayBuffer>;
}

export type NamedTensors = Readonly<Record<string, BenchTensor>>;

const arrays = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array } as const;

export const elementCount = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** A tensor over bytes, which are little-endian, from an offset on; as many as its shape says. */
export function tensorOfBytes(dtype: string, shape: readonly number[], bytes: Uint8Array, offset = 0): BenchTensor {
  if (!(dtype in arrays)) throw new Error(`the bench has no tensors of ${dtype}`);
  const array = arrays[dtype as BenchDType];
  const length = elementCount(shape) * array.BYTES_PER_ELEMENT;
  const { buffer } = bytes.slice(offset, offset + length);
  return { dtype: dtype as BenchDType, shape, data: new array(buffer) };
}

/**
 * Numbers in [-1/2, 1/2) that look random and are the same everywhere: the top 24 bits of a product modulo 2^32, which float32 holds
 * exactly. make-expected.py has the same in NumPy.
 */
export function patternTensor(shape: readonly number[], seed: number, scale = 1): BenchTensor {
  const data = new Float32Array(elementCount(shape));
  for (let index = 0; index < data.length; index++) {
    let bits = Math.imul(index + 1 + Math.imul(seed, 7919), 2654435761);
    bits = Math.imul(bits ^ (bits >>> 15), 2246822519);
    data[index] = Math.fround(scale) * (((bits ^ (bits >>> 13)) >>> 8) / 2 ** 24 - 0.5);
  }
  return { dtype: 'float32', shape, data };
}

/** A tensor in a few words: numbers as `patternTensor` has them, whole ones from 0 on, one everywhere, or 1 but for so many zeros at the beginning or the end of each row. */
export type TensorSpec =
  | { readonly shape: readonly number[]; readonly seed: number; readonly scale?: number }
  | { readonly shape: readonly number[]; readonly seed: number; readonly below: number }
  | { readonly shape: readonly number[]; readonly fill: number; readonly dtype: 'float32' | 'int64' }
  | { readonly shape: readonly [number, number]; readonly zeros: readonly number[]; readonly side: 'left' | 'right' };

/** apps/bench/workloads/sequences.py has the same in PyTorch. */
export function tensorOfSpec(spec: TensorSpec): BenchTensor {
  const { shape } = spec;
  if ('fill' in spec) {
    const { dtype, fill } = spec;
    const length = elementCount(shape);
    const isFloat = dtype === 'float32';
    return {
      dtype,
      shape,
      data: isFloat ? new Float32Array(length).fill(fill) : new BigInt64Array(length).fill(BigInt(fill)),
    };
  }
  if ('zeros' in spec) {
    const [, columns] = spec.shape;
    const isOne = (row: number, column: number): boolean =>
      spec.side === 'left' ? column >= spec.zeros[row] : column < columns - spec.zeros[row];
    const bits = spec.zeros.flatMap((_, row) => Array.from({ length: columns }, (_each, at) => isOne(row, at)));
    return { dtype: 'int64', shape, data: BigInt64Array.from(bits, BigInt) };
  }
  if (!('below' in spec)) return patternTensor(shape, spec.seed, spec.scale);
  const numbers = patternTensor(shape, spec.seed).data as Float32Array;
  return {
    dtype: 'int64',
    shape,
    data: BigInt64Array.from(numbers, (each) => BigInt(Math.floor((each + 0.5) * spec.below))),
  };
}

/** The tensor with its axes in another order. */
export function permuted({ dtype, shape, data }: BenchTensor, order: readonly number[]): BenchTensor {
  const strides = shape.map((_, axis) => elementCount(shape.slice(axis + 1)));
  const sizes = order.map((axis) => shape[axis]);
  const steps = order.map((axis) => strides[axis]);
  const target = data.slice();
  const at = sizes.map(() => 0);
  let from = 0;
  for (let index = 0; index < target.length; index++) {
    target[index] = data[from];
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      from += steps[axis];
      if (++at[axis] < sizes[axis]) break;
      from -= steps[axis] * sizes[axis];
      at[axis] = 0;
    }
  }
  return { dtype, shape: sizes, data: target };
}
