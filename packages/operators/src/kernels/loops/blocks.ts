import { bitsToNumber, numberToBits, type ScalarType, type Tensor } from '@cresset/tensor';
import type { ExprType } from '@cresset/tensorexpr';
import { toInt64 } from '../elements.ts';
import { exactOne, mappedOne, rowLoops, type RowLoop } from './lanes.ts';
import type { VisitRun } from './tensor-iterator.ts';

/** Elements that are worked on at a time: few enough to stay in the processor's first cache. */
export const blockSize = 512;

/**
 * A block of values while they are computed with. Floats lie in an array of the precision computed in, so that rounding
 * happens where PyTorch rounds; int64 in doubles as long as every value fits 2^53, in a BigInt64Array otherwise.
 */
export type Register = Float32Array | Float64Array | Int32Array | Uint8Array | BigInt64Array;

export interface Precision {
  /** Floats are computed in double precision. */
  readonly double: boolean;
  /** int64 is computed with bigints. */
  readonly exact: boolean;
}

export function makeRegister(type: ExprType, { double, exact }: Precision, length = blockSize): Register {
  switch (type) {
    case 'float':
      return double ? new Float64Array(length) : new Float32Array(length);
    case 'i32':
      return new Int32Array(length);
    case 'bool':
      return new Uint8Array(length);
    case 'i64':
      return exact ? new BigInt64Array(length) : new Float64Array(length);
  }
}

/** A value left the range in which doubles are exact integers: the work has to be done again with bigints. */
export class IntegerRangeError extends RangeError {}

/** High words of int64 values of magnitude below 2^53. */
const highLimit = 2 ** 21;

/** Fills a register of the dtype's own expression type from runs of a tensor's storage. */
export function blockReader(tensor: Tensor, register: Register): VisitRun {
  const source = tensor.storageArray();
  const toNumber = bitsToNumber(tensor.dtype);
  if (toNumber) return bitsReader(source as Uint16Array, register as Float32Array, toNumber);
  switch (tensor.dtype) {
    case 'uint32':
    case 'uint64':
      return unsignedReader(source as Uint32Array, register as Float64Array);
    case 'int64':
      if (register instanceof BigInt64Array) return longReader(source as BigInt64Array, register);
      return fastLongReader(source as BigInt64Array, register as Float64Array);
    default:
      return plainReader(source as Float32Array, register as Float32Array);
  }
}

function plainReader(source: Float32Array, register: Float32Array): VisitRun {
  return (offset, stride, count, at) => {
    if (stride === 1 && count > 16) {
      register.set(source.subarray(offset, offset + count), at);
    } else if (stride === 0) {
      register.fill(source[offset], at, at + count);
    } else {
      for (let i = 0; i < count; i++) register[at + i] = source[offset + i * stride];
    }
  };
}

function bitsReader(source: Uint16Array, register: Float32Array, toNumber: (bits: number) => number): VisitRun {
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) register[at + i] = toNumber(source[offset + i * stride]);
  };
}

/** uint64 beyond the range of int64 wraps into it, as in conversions by C++. */
function unsignedReader(source: Uint32Array | BigUint64Array, register: Float64Array | BigInt64Array): VisitRun {
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) {
      const value = source[offset + i * stride];
      if (register instanceof BigInt64Array) register[at + i] = BigInt(value);
      else if (value > Number.MAX_SAFE_INTEGER) throw new IntegerRangeError();
      else register[at + i] = Number(value);
    }
  };
}

function unsignedWriter(target: Uint32Array | BigUint64Array, register: Float64Array | BigInt64Array): VisitRun {
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) {
      const value = register[at + i];
      if (target instanceof BigUint64Array) target[offset + i * stride] = BigInt(value);
      else target[offset + i * stride] = Number(BigInt.asUintN(32, BigInt(value)));
    }
  };
}

function longReader(source: BigInt64Array, register: BigInt64Array): VisitRun {
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) register[at + i] = source[offset + i * stride];
  };
}

function fastLongReader(source: BigInt64Array, register: Float64Array): VisitRun {
  const words = new Int32Array(source.buffer, source.byteOffset, source.length * 2);
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) {
      const word = 2 * (offset + i * stride);
      const high = words[word + 1];
      if (high >= highLimit || high < -highLimit) throw new IntegerRangeError();
      register[at + i] = high * 4294967296 + (words[word] >>> 0);
    }
  };
}

/** Writes a register of the dtype's own expression type to runs of a tensor's storage. */
export function blockWriter(tensor: Tensor, register: Register): VisitRun {
  const target = tensor.storageArrayForWriting();
  const toBits = numberToBits(tensor.dtype);
  if (toBits) return bitsWriter(target as Uint16Array, register as Float32Array, toBits);
  switch (tensor.dtype) {
    case 'uint32':
    case 'uint64':
      return unsignedWriter(target as Uint32Array, register as Float64Array);
    case 'int64':
      if (register instanceof BigInt64Array) return longWriter(target as BigInt64Array, register);
      return fastLongWriter(target as BigInt64Array, register as Float64Array);
    default:
      return plainWriter(target as Float32Array, register as Float32Array);
  }
}

function plainWriter(target: Float32Array, register: Float32Array): VisitRun {
  return (offset, stride, count, at) => {
    if (stride === 1 && count > 16) target.set(register.subarray(at, at + count), offset);
    else for (let i = 0; i < count; i++) target[offset + i * stride] = register[at + i];
  };
}

function bitsWriter(target: Uint16Array, register: Float32Array, toBits: (value: number) => number): VisitRun {
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) target[offset + i * stride] = toBits(register[at + i]);
  };
}

function longWriter(target: BigInt64Array, register: BigInt64Array): VisitRun {
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) target[offset + i * stride] = register[at + i];
  };
}

function fastLongWriter(target: BigInt64Array, register: Float64Array): VisitRun {
  const words = new Int32Array(target.buffer, target.byteOffset, target.length * 2);
  return (offset, stride, count, at) => {
    for (let i = 0; i < count; i++) {
      const value = register[at + i];
      const word = 2 * (offset + i * stride);
      words[word] = value | 0;
      words[word + 1] = Math.floor(value / 4294967296);
    }
  };
}

/** Whether tensors of this dtype can be read into registers. */
export const hasRegisters = (dtype: ScalarType): boolean => !dtype.startsWith('complex');

/** Converts from one expression type to another, as C++ converts. */
export function castLoop(from: ExprType, to: ExprType, source: Register, target: Register): RowLoop {
  if (to === 'bool') return source instanceof BigInt64Array ? exactOne((a) => (a === 0n ? 0 : 1)) : mappedOne(truthOf);
  if (target instanceof BigInt64Array) return exactOne((a) => toInt64(Number(a)));
  if (to === 'i64') return from === 'float' ? mappedOne(cutExactly) : rowLoops.copy;
  if (source instanceof BigInt64Array) return exactOne((a) => Number(to === 'float' ? a : BigInt.asIntN(32, a)));
  return to === 'i32' ? mappedOne((a) => a | 0) : rowLoops.copy;
}

const truthOf = (value: number): number => (value === 0 ? 0 : 1);

function cutExactly(value: number): number {
  const whole = Math.trunc(value);
  // NaN fails the comparison too.
  if (!(Math.abs(whole) <= Number.MAX_SAFE_INTEGER)) throw new IntegerRangeError();
  return whole + 0;
}
