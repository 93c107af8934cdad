import { OperatorError } from '../../kernels/errors.ts';

/** 64-bit integer arithmetic with C++'s wraparound on bigints, and Python's rules where TorchScript has them. */

export function wrap(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

/** Rounds down, as Python's `//`. */
export function floorDivide(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new OperatorError('division by 0');
  const quotient = a / b;
  return wrap(a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient);
}

/** The remainder with the divisor's sign, as Python's `%`. PyTorch's own process ends where the divisor is zero. */
export function pythonRemainder(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new OperatorError('integer modulo by zero');
  const remainder = a % b;
  return remainder !== 0n && remainder < 0n !== b < 0n ? remainder + b : remainder;
}

/** C++'s conversion of a double: towards zero; what does not fit becomes the smallest integer, as on x86. */
export function truncateToInt(value: number): bigint {
  if (!(Math.abs(value) < 2 ** 63)) return -(2n ** 63n);
  return BigInt(Math.trunc(value));
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return wrap(x);
}

/** Shifts by less than 0 or more than 63 wrap round as on x86. */
export function shiftLeft(a: bigint, b: bigint): bigint {
  return wrap(a << (b & 63n));
}

export function shiftRight(a: bigint, b: bigint): bigint {
  return a >> (b & 63n);
}
