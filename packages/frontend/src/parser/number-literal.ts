import { Complex } from '@cresset/ir';

const INT64_MAX = 2n ** 63n - 1n;

/**
 * The value of a number token: an int as a bigint, a float as a number. Throws a RangeError for an int that no signed
 * 64-bit integer holds, save 2**63, which a minus sign before it can make one.
 */
export function parseNumber(text: string): bigint | number | Complex {
  const digits = text.replaceAll('_', '');
  if (/^0[xXbBoO]/.test(digits)) {
    return checkRange(BigInt(digits));
  }
  if (/[jJ]$/.test(digits)) {
    return new Complex(0, Number(digits.slice(0, -1)));
  }
  if (/[.eE]/.test(digits)) {
    return Number(digits);
  }
  return checkRange(BigInt(digits));
}

/** The negative of a number literal; the sign of a float's zero is kept. */
export function negateNumber(value: bigint | number | Complex): bigint | number | Complex {
  return value instanceof Complex ? new Complex(-value.re, -value.im) : -value;
}

function checkRange(value: bigint): bigint {
  if (value > INT64_MAX + 1n) {
    throw new RangeError('Integral constant out of range (must fit in a signed 64 bit integer)');
  }
  return value;
}
