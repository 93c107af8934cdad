import { Complex } from '@cresset/ir';
import {
  bitsToNumber,
  halfToNumber,
  isComplex,
  numberToBits,
  numberToHalf,
  type HostArray,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import type { Scalar } from '../table/row.ts';

/** Reads elements as numbers by offset into the storage; an int64 beyond 2^53 is rounded, of a complex one the real part is read. */
export function numberReader(tensor: Tensor): (offset: number) => number {
  const array = tensor.storageArray();
  const toNumber = bitsToNumber(tensor.dtype);
  if (toNumber) {
    const bits = array as Uint16Array;
    return tensor.dtype === 'complex32' ? (offset) => toNumber(bits[2 * offset]) : (offset) => toNumber(bits[offset]);
  }
  switch (tensor.dtype) {
    case 'int64':
    case 'uint64':
      return (offset) => Number(array[offset]);
    case 'complex64':
    case 'complex128':
      return (offset) => (array as Float64Array)[2 * offset];
    default: {
      const numbers = array as Float64Array;
      return (offset) => numbers[offset];
    }
  }
}

/** Writes numbers, converted to the tensor's dtype as C++ converts them: integers wrap, fractions are cut off. */
export function numberWriter(tensor: Tensor): (offset: number, value: number) => void {
  const array = tensor.storageArrayForWriting();
  const toBits = numberToBits(tensor.dtype);
  if (toBits && !isComplex(tensor.dtype)) return (offset, value) => void (array[offset] = toBits(value));
  switch (tensor.dtype) {
    case 'bool':
      return (offset, value) => void (array[offset] = value !== 0 ? 1 : 0);
    case 'int64':
    case 'uint64': {
      const longs = array as BigInt64Array;
      return (offset, value) => void (longs[offset] = toInt64(value));
    }
    case 'complex32':
      return (offset, value) => {
        array[2 * offset] = numberToHalf(value);
        array[2 * offset + 1] = 0;
      };
    case 'complex64':
    case 'complex128':
      return (offset, value) => {
        array[2 * offset] = value;
        array[2 * offset + 1] = 0;
      };
    default: {
      // Typed arrays wrap integers and cut fractions off as C++ does for values that fit.
      const numbers = array as Float64Array;
      return (offset, value) => void (numbers[offset] = value);
    }
  }
}

const smallestInt64 = -(2n ** 63n);

/** A double as int64: cut off; what does not fit, and NaN, is the smallest int64, as on x86. */
export function toInt64(value: number): bigint {
  return value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : smallestInt64;
}

/** Reads elements of an integral or bool tensor exactly. */
export function bigintReader(tensor: Tensor): (offset: number) => bigint {
  const array = tensor.storageArray();
  if (tensor.dtype === 'int64') return (offset) => (array as BigInt64Array)[offset];
  const read = numberReader(tensor);
  return (offset) => toInt64(read(offset));
}

/** Writes integers, wrapped to the tensor's dtype. */
export function bigintWriter(tensor: Tensor): (offset: number, value: bigint) => void {
  if (tensor.dtype === 'int64') {
    const longs = tensor.storageArrayForWriting() as BigInt64Array;
    return (offset, value) => void (longs[offset] = value);
  }
  const write = numberWriter(tensor);
  if (tensor.dtype === 'bool') return (offset, value) => write(offset, value === 0n ? 0 : 1);
  if (isFloat(tensor.dtype)) return (offset, value) => write(offset, Number(value));
  return (offset, value) => write(offset, Number(BigInt.asIntN(32, value)));
}

const isFloat = (dtype: ScalarType): boolean =>
  dtype.startsWith('float') || dtype.startsWith('bfloat') || isComplex(dtype);

/** Reads one element as the program sees it: bigint, number, boolean or Complex. */
export function readScalar(tensor: Tensor, offset: number): Scalar {
  switch (tensor.dtype) {
    case 'bool':
      return tensor.storageArray()[offset] !== 0;
    case 'uint8':
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
    case 'uint16':
    case 'uint32':
    case 'uint64':
      return BigInt(tensor.storageArray()[offset]);
    case 'complex32': {
      const bits = tensor.storageArray() as Uint16Array;
      return new Complex(halfToNumber(bits[2 * offset]), halfToNumber(bits[2 * offset + 1]));
    }
    case 'complex64':
    case 'complex128': {
      const parts = tensor.storageArray() as Float64Array;
      return new Complex(parts[2 * offset], parts[2 * offset + 1]);
    }
    default:
      return numberReader(tensor)(offset);
  }
}

/** Writes a number of a program into the tensor, converted to its dtype. */
export function scalarWriter(tensor: Tensor): (offset: number, value: Scalar) => void {
  if (isComplex(tensor.dtype)) {
    const array = tensor.storageArrayForWriting() as HostArray;
    const part = tensor.dtype === 'complex32' ? numberToHalf : (value: number) => value;
    return (offset, value) => {
      const complex = value instanceof Complex ? value : new Complex(Number(value), 0);
      array[2 * offset] = part(complex.re);
      array[2 * offset + 1] = part(complex.im);
    };
  }
  const writeInteger = bigintWriter(tensor);
  const writeNumber = numberWriter(tensor);
  const isBool = tensor.dtype === 'bool';
  return (offset, value) => {
    if (typeof value === 'bigint') writeInteger(offset, value);
    else writeNumber(offset, isBool ? Number(scalarToTruth(value)) : scalarToNumber(value));
  };
}

/** Whether a Scalar is another number than zero. */
export function scalarToTruth(value: Scalar): boolean {
  return value instanceof Complex ? value.re !== 0 || value.im !== 0 : Number(value) !== 0;
}

/** The number a Scalar stands for; of a complex one the real part. */
export function scalarToNumber(value: Scalar): number {
  return value instanceof Complex ? value.re : Number(value);
}

/** The integer a Scalar stands for, cut off. */
export function scalarToBigint(value: Scalar): bigint {
  if (typeof value === 'bigint') return value;
  return typeof value === 'boolean' ? BigInt(value) : toInt64(scalarToNumber(value));
}
