import { float8ToNumber, numberToFloat8 } from './float8.ts';
import type { ScalarType } from './scalar-type.ts';

/** Half-precision numbers in a `Uint16Array`: Float16Array is not in every browser and not in Node 20. */

const word = new Uint32Array(1);
const single = new Float32Array(word.buffer);

/** The value of a float16 bit pattern. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * The nearest float16, ties to even, of a number first rounded to float32 as PyTorch does. NaN has one pattern: the sign of one that
 * JavaScript computed differs between engines, and between the tiers of one. Halves that are copied are copied as they are, as bits.
 */
export function numberToHalf(value: number): number {
  single[0] = value;
  const bits = word[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rebased = magnitude - 0x38000000;
    return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
  }
  // Subnormal: let float addition do the rounding, with the half's last place at the float's.
  single[0] = Math.abs(single[0]) + 0.5;
  return sign | (word[0] - 0x3f000000);
}

/** The value of a bfloat16 bit pattern. */
export function bfloatToNumber(bits: number): number {
  word[0] = bits << 16;
  return single[0];
}

/** The nearest bfloat16, ties to even, of a number first rounded to float32. */
export function numberToBfloat(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  single[0] = value;
  const bits = word[0];
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** How a dtype whose elements lie in memory as bits of a float gives their values; undefined where they are numbers. */
export function bitsToNumber(dtype: ScalarType): ((bits: number) => number) | undefined {
  if (dtype === 'float16' || dtype === 'complex32') return halfToNumber;
  return dtype === 'bfloat16' ? bfloatToNumber : float8ToNumber(dtype);
}

/** How numbers become the bits of such a dtype. */
export function numberToBits(dtype: ScalarType): ((value: number) => number) | undefined {
  if (dtype === 'float16' || dtype === 'complex32') return numberToHalf;
  return dtype === 'bfloat16' ? numberToBfloat : numberToFloat8(dtype);
}
