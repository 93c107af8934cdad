import type { ScalarTypeName, Type } from '@cresset/ir';
import { contiguousStrides, elementSize, Storage, Tensor, type ScalarType } from '@cresset/tensor';

/** Arguments on which operators are run to see what dtypes and sizes they give. */

/** Zeros, or of another byte throughout. */
export function exampleTensor(
  scalarType: ScalarTypeName,
  sizes: readonly number[],
  strides: readonly number[] = contiguousStrides(sizes),
  byte = 0,
): Tensor {
  const dtype = scalarType as ScalarType;
  const length = sizes.includes(0) ? 0 : sizes.reduce((sum, size, dim) => sum + (size - 1) * strides[dim], 1);
  const bytes = new Uint8Array(length * elementSize(dtype)).fill(byte);
  return new Tensor(Storage.onHost(bytes.buffer), dtype, sizes, strides);
}

/** A number of a type; undefined for a type that is no number's. */
export function exampleNumber(type: Type): bigint | number | undefined {
  if (type.kind === 'IntType') return 1n;
  return type.kind === 'FloatType' ? 1 : undefined;
}
