/**
 * The functions of the scalar language on the host, at double precision: what a device's kernels are compared with.
 */
import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from '@cresset/tensor';
import type { BinaryFunction, UnaryFunction } from './expr.ts';

/** Coefficients of (1 + 2x)·erfcx(x) for x ≥ 0 in Chebyshev polynomials of t = (x − 3.75) / (x + 3.75), found by interpolation
 * at 64 Chebyshev nodes in 50-digit arithmetic; the first is halved on use. */
const erfcxCoefficients = [
  2.3551578691348035, -0.0045900545806464773, -0.084249133366517916, 0.05920993999819189, -0.026658668435305752,
  0.0090749976707052651, -0.0024131635404176082, 0.00049077583652580863, -6.9169733025012064e-5, 4.1390279860730102e-6,
  7.7403830661984907e-7, -2.1886401049234396e-7, 1.076499946567091e-8, 4.5219598112182869e-9, -7.7544002088313511e-10,
  -6.3180883408866845e-11, 2.8687950109306699e-11, 1.9455868545777347e-13, -9.6546967484334389e-13,
  3.2525481481487398e-14, 3.3478119482868054e-14, -1.8645628804193131e-15, -1.2507950530688647e-15,
]; // prettier-ignore

/** exp(x²)·erfc(x). */
export function erfcx(x: number): number {
  if (x < 0) return 2 * Math.exp(x * x) - erfcx(-x);
  if (x > 1e8) return 1 / (x * Math.sqrt(Math.PI));
  const t = (x - 3.75) / (x + 3.75);
  let later = 0;
  let latest = 0;
  for (let k = erfcxCoefficients.length - 1; k > 0; k--) {
    const sum = 2 * t * latest - later + erfcxCoefficients[k];
    later = latest;
    latest = sum;
  }
  return (t * latest - later + erfcxCoefficients[0] / 2) / (1 + 2 * x);
}

/** exp(−x²) without the error that rounding x² would bring in where it is large. */
function gaussian(x: number): number {
  const high = Math.fround(x);
  return Math.exp(-high * high) * Math.exp((high - x) * (high + x));
}

export function erf(x: number): number {
  if (x === 0) return x;
  const magnitude = Math.abs(x);
  if (magnitude > 1) return Math.sign(x) * (1 - erfc(magnitude));
  // Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n+1)) · 2/√π converges quickly here.
  const square = x * x;
  let power = x;
  let sum = x;
  for (let n = 1; n < 24; n++) {
    power *= -square / n;
    const term = power / (2 * n + 1);
    sum += term;
    if (Math.abs(term) < 1e-17 * Math.abs(sum)) break;
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

export function erfc(x: number): number {
  if (x < 0.5) return 1 - erf(x);
  return x > 27.3 ? 0 : gaussian(x) * erfcx(x);
}

export function erfinv(y: number): number {
  if (!(y > -1 && y < 1)) return Math.abs(y) === 1 ? y * Infinity : NaN;
  if (y === 0) return y;
  // Winitzki's approximation, good to three digits, then Halley's iteration on erf(x) = y.
  const logarithm = Math.log1p(-y * y);
  const a = 2 / (Math.PI * 0.147) + logarithm / 2;
  let x = Math.sign(y) * Math.sqrt(Math.sqrt(a * a - logarithm / 0.147) - a);
  for (let step = 0; step < 3; step++) {
    const error = Math.abs(x) < 1 ? erf(x) - y : Math.sign(x) * (1 - Math.abs(y) - erfc(Math.abs(x)));
    const ratio = error / ((2 / Math.sqrt(Math.PI)) * Math.exp(-x * x));
    x -= ratio / (1 + x * ratio);
  }
  return x;
}

/** Σ B₂ₖ / (2k (2k−1) z²ᵏ⁻¹), the tail of Stirling's series. */
function stirlingTail(z: number): number {
  const inverse = 1 / (z * z);
  let sum = -691 / 360360;
  for (const coefficient of [1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12]) sum = sum * inverse + coefficient;
  return sum / z;
}

/** ln |Γ(x)|. */
export function lgamma(x: number): number {
  if (Number.isNaN(x)) return NaN;
  if (!Number.isFinite(x)) return Infinity;
  if (x <= 0 && Number.isInteger(x)) return Infinity;
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * fractionalPart(x)))) - lgamma(1 - x);
  if (x === 1 || x === 2) return 0;
  let shifted = x;
  let product = 1;
  while (shifted < 12) product *= shifted++;
  return (
    (shifted - 0.5) * Math.log(shifted) -
    shifted +
    0.5 * Math.log(2 * Math.PI) +
    stirlingTail(shifted) -
    Math.log(product)
  );
}

/** x modulo 2, so that sin(π x) keeps its digits for large x. */
function fractionalPart(x: number): number {
  return x % 2;
}

/** The logarithmic derivative of Γ. */
export function digamma(x: number): number {
  if (x === 0) return Object.is(x, -0) ? Infinity : -Infinity;
  if (x === Infinity) return Infinity;
  if (x < 0) {
    if (Number.isInteger(x) || x === -Infinity) return NaN;
    return digamma(1 - x) - Math.PI / Math.tan(Math.PI * (x % 1));
  }
  let shifted = x;
  let sum = 0;
  while (shifted < 10) sum -= 1 / shifted++;
  const inverse = 1 / (shifted * shifted);
  let tail = 1 / 12;
  for (const coefficient of [-691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12])
    tail = tail * inverse + coefficient;
  return sum + Math.log(shifted) - 0.5 / shifted - tail * inverse;
}

/** To the nearest integer, halves to the even one. */
export function roundToEven(x: number): number {
  const floor = Math.floor(x);
  const fraction = x - floor;
  if (fraction !== 0.5) return fraction < 0.5 ? (floor === 0 && x < 0 ? -0 : floor) : Math.ceil(x);
  const even = floor % 2 === 0 ? floor : floor + 1;
  return even === 0 && x < 0 ? -0 : even;
}

const bits = new DataView(new ArrayBuffer(8));

/** The next double after `x` towards `y`. */
export function nextafter(x: number, y: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  if (x === y) return y;
  if (x === 0) return y > 0 ? Number.MIN_VALUE : -Number.MIN_VALUE;
  bits.setFloat64(0, x);
  bits.setBigInt64(0, bits.getBigInt64(0) + (y > x === x > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

/** The next float32 after `x` towards `y`. */
export function nextafterSingle(x: number, y: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  if (x === y) return y;
  if (x === 0) return y > 0 ? 2 ** -149 : -(2 ** -149);
  bits.setFloat32(0, x);
  bits.setInt32(0, bits.getInt32(0) + (y > x === x > 0 ? 1 : -1));
  return bits.getFloat32(0);
}

/** Division rounded down, as Python's `//` on floats: exact where the quotient is rounded across an integer. */
export function floorDivide(x: number, y: number): number {
  if (y === 0) return x / y;
  const rest = x % y;
  let quotient = (x - rest) / y;
  if (rest !== 0 && rest < 0 !== y < 0) quotient -= 1;
  if (quotient === 0) return Object.is(x / y, -0) || x / y < 0 ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** The rest with the sign of the divisor. */
export function remainder(x: number, y: number): number {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

function power(x: number, y: number): number {
  // JavaScript gives NaN for 1 ** Infinity and 1 ** NaN, C gives 1.
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return x ** y;
}

export function copysign(x: number, y: number): number {
  const negative = y < 0 || Object.is(y, -0);
  return negative ? -Math.abs(x) : Math.abs(x);
}

const truth = (value: boolean): number => (value ? 1 : 0);

/** Functions of one float; predicates give 0 or 1. */
export const floatUnary: Record<UnaryFunction, (x: number) => number> = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: (x) => (x > 0 ? 1 : x < 0 ? -1 : 0),
  not: (x) => truth(x === 0),
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  erf,
  erfc,
  erfinv,
  lgamma,
  digamma,
  floor: Math.floor,
  ceil: Math.ceil,
  round: roundToEven,
  trunc: Math.trunc,
  isnan: (x) => truth(Number.isNaN(x)),
  isinf: (x) => truth(Math.abs(x) === Infinity),
  isfinite: (x) => truth(Number.isFinite(x)),
  signbit: (x) => truth(x < 0 || Object.is(x, -0)),
  single: Math.fround,
  half: (x) => halfToNumber(numberToHalf(x)),
  bfloat: (x) => bfloatToNumber(numberToBfloat(x)),
};

/** Functions of two floats; comparisons give 0 or 1. Bitwise ones are for integers that fit 32 bits. */
export const floatBinary: Record<BinaryFunction, (x: number, y: number) => number> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  truncdiv: (x, y) => Math.trunc(x / y),
  floordiv: floorDivide,
  fmod: (x, y) => x % y,
  remainder,
  pow: power,
  atan2: Math.atan2,
  hypot: (x, y) => Math.hypot(x, y),
  copysign,
  nextafter,
  max: Math.max,
  min: Math.min,
  fmax: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y)),
  fmin: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y)),
  eq: (x, y) => truth(x === y),
  ne: (x, y) => truth(x !== y),
  lt: (x, y) => truth(x < y),
  le: (x, y) => truth(x <= y),
  gt: (x, y) => truth(x > y),
  ge: (x, y) => truth(x >= y),
  and: (x, y) => x & y,
  or: (x, y) => x | y,
  xor: (x, y) => x ^ y,
  shl: (x, y) => (y < 0 || y > 31 ? 0 : x << y),
  shr: (x, y) => x >> (y < 0 || y > 31 ? 31 : y),
  philox: () => NaN,
};

/** Functions of one 64-bit integer. Those that are missing leave an integer as it is or are for floats only. */
export const integerUnary: Partial<Record<UnaryFunction, (x: bigint) => bigint>> = {
  neg: (x) => -x,
  abs: (x) => (x < 0n ? -x : x),
  sign: (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n),
  not: (x) => ~x,
  floor: (x) => x,
  ceil: (x) => x,
  round: (x) => x,
  trunc: (x) => x,
  isnan: () => 0n,
  isinf: () => 0n,
  isfinite: () => 1n,
  signbit: (x) => (x < 0n ? 1n : 0n),
};

const bigTruth = (value: boolean): bigint => (value ? 1n : 0n);

function floorDivideInteger(x: bigint, y: bigint): bigint {
  const quotient = x / y;
  return quotient * y !== x && x < 0n !== y < 0n ? quotient - 1n : quotient;
}

/** Integer power as C++ code has it: a negative exponent gives 0 unless the base is 1 or −1. */
function powerInteger(x: bigint, y: bigint): bigint {
  if (y < 0n) {
    if (x === 1n) return 1n;
    return x === -1n ? (y % 2n === 0n ? 1n : -1n) : 0n;
  }
  let result = 1n;
  for (let base = x, exponent = y; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = BigInt.asIntN(64, result * base);
    base = BigInt.asIntN(64, base * base);
  }
  return result;
}

/** Functions of two 64-bit integers; results are to be wrapped by the caller. Division by zero throws a RangeError. */
export const integerBinary: Partial<Record<BinaryFunction, (x: bigint, y: bigint) => bigint>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  truncdiv: (x, y) => x / y,
  floordiv: floorDivideInteger,
  fmod: (x, y) => x % y,
  remainder: (x, y) => x - floorDivideInteger(x, y) * y,
  pow: powerInteger,
  max: (x, y) => (x > y ? x : y),
  min: (x, y) => (x < y ? x : y),
  fmax: (x, y) => (x > y ? x : y),
  fmin: (x, y) => (x < y ? x : y),
  eq: (x, y) => bigTruth(x === y),
  ne: (x, y) => bigTruth(x !== y),
  lt: (x, y) => bigTruth(x < y),
  le: (x, y) => bigTruth(x <= y),
  gt: (x, y) => bigTruth(x > y),
  ge: (x, y) => bigTruth(x >= y),
  and: (x, y) => x & y,
  or: (x, y) => x | y,
  xor: (x, y) => x ^ y,
  shl: (x, y) => (y < 0n || y > 63n ? 0n : x << y),
  shr: (x, y) => x >> (y < 0n || y > 63n ? 63n : y),
};
