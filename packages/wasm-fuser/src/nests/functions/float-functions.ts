import { erfRational, tanhRational, type RationalFunction } from '@cresset/tensorexpr';
import { f32, f32x4, f64, i32, i32x4, i64, v128, type Code } from '../../code.ts';
import {
  plainFunctions,
  polynomial as polynomialOf,
  type Unary,
  type Floats,
  type Keep,
  type MultiplyAdd,
  type FloatUnary,
} from './floats.ts';

const { add, sub, mul, div } = f32x4;
const number = f32x4.const;
const sized = (size: number): Code => v128.words(size, size, size, size);
const signs = sized(-0x80000000);
const sizes = sized(0x7fffffff);
const infinity = number(Infinity);

const polynomial = (x: Code, coefficients: readonly number[], multiplyAdd: MultiplyAdd): Code =>
  polynomialOf(f32x4, x, coefficients, multiplyAdd);

const withSign = (size: Code, of: Code): Code => v128.select(size, of, sizes);
const isNan = (x: Code): Code => f32x4.ne(x, x);
const ones = number(1);

/** `x` between two numbers; NaN where it is. */
const within = (x: Code, least: number, most: number): Code =>
  f32x4.lesser(f32x4.greater(x, number(least)), number(most));

/** 1.5 · 2²³: what is added to it is rounded to a whole number, which is then in its last bits. */
const ROUNDING = 12582912;

/** Where the exponent of a float begins. */
const EXPONENT = i32.const(23);

/**
 * Cephes' reduction by ln 2 in two parts: `x = n ln 2 + r`, of which it gives n in the last bits of a vector, and 1 + r (1 + r p(r)). The polynomial p is the
 * one of its degree that comes closest: 3e-9 of the power, or 1e-7 with a term less.
 */
function powerParts(
  x: Code,
  keep: Keep,
  multiplyAdd: MultiplyAdd,
  coefficients: readonly number[] = [0.49999994, 0.1666652, 0.04166839, 0.0083687239, 0.0013814584],
): { readonly rounded: Code; readonly mantissa: Code } {
  const rounded = keep(multiplyAdd(x, number(1.442695), number(ROUNDING)));
  const n = keep(sub(rounded, number(ROUNDING)));
  const r = keep(multiplyAdd(n, number(0.00021219444), multiplyAdd(n, number(-0.693359375), x)));
  return { rounded, mantissa: polynomial(r, [1, 1, ...coefficients], multiplyAdd) };
}

/** 2ⁿ in two factors, so that the borders of the range are right. */
const exp: FloatUnary = (x, keep, multiplyAdd) => {
  const { rounded, mantissa } = powerParts(keep(within(x, -104, 89)), keep, multiplyAdd);
  const half = keep(v128.and(i32x4.shiftLeft(rounded, i32.const(22)), sized(-0x800000)));
  const rest = i32x4.sub(i32x4.shiftLeft(rounded, EXPONENT), half);
  return mul(mul(mantissa, i32x4.add(half, ones)), i32x4.add(rest, ones));
};

/** 2²⁴ times `exp` of what is not above 0, or NaN: no subnormal number, where `exp` is one, and as good for what is a share of a sum of such. */
export const shareOfPowers: FloatUnary = (x, keep, multiplyAdd) => {
  const coefficients = [0.49999216, 0.16667123, 0.0418923, 0.008312288];
  const { rounded, mantissa } = powerParts(keep(f32x4.greater(x, number(-104))), keep, multiplyAdd, coefficients);
  return mul(mantissa, i32x4.add(i32x4.shiftLeft(rounded, EXPONENT), number(2 ** 24)));
};

/** Near 0 the series, since the difference would lose the digits. */
const expm1: FloatUnary = (x, keep, multiplyAdd) => {
  const coefficients = [1, 0.5, 0.16666667, 0.041666668, 0.008333334, 0.0013888889, 0.0001984127, 0.000024801588];
  const series = mul(x, polynomial(x, coefficients, multiplyAdd));
  const isSmall = f32x4.le(f32x4.abs(x), number(0.5));
  return v128.select(series, sub(exp(x, keep, multiplyAdd), ones), isSmall);
};

/**
 * `x = m 2ᵉ` with `m` between √½ and √2: what `finish` makes of ln m, as a large and a small part, and e. NaN below 0, infinities at the ends.
 */
const logarithm =
  (finish: (large: Code, small: Code, exponent: Code) => Code): FloatUnary =>
  (x, keep, multiplyAdd) => {
    const isTiny = keep(f32x4.lt(x, number(2 ** -126)));
    const scaled = keep(v128.select(mul(x, number(2 ** 23)), x, isTiny));
    // The bits of √½: what is above it belongs to the next power of two.
    const moved = keep(i32x4.sub(scaled, sized(0x3f3504f3)));
    const whole = i32x4.sub(i32x4.shiftRight(moved, i32.const(23)), v128.and(isTiny, sized(23)));
    const exponent = keep(f32x4.ofIntegers(whole));
    const f = keep(sub(i32x4.add(v128.and(moved, sized(0x7fffff)), sized(0x3f3504f3)), ones));
    const square = keep(mul(f, f));
    const tail = polynomial(
      f,
      [
        3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1, -1.2420140846e-1,
        1.167699874e-1, -1.151461031e-1, 7.0376836292e-2,
      ],
      multiplyAdd,
    );
    const small = keep(sub(mul(mul(f, square), tail), mul(square, number(0.5))));
    const finite = keep(finish(f, small, exponent));
    const known = keep(v128.select(x, finite, f32x4.eq(x, infinity)));
    const positive = keep(v128.select(number(-Infinity), known, f32x4.eq(x, number(0))));
    return v128.select(positive, number(NaN), f32x4.ge(x, number(0)));
  };

const log = logarithm((large, small, exponent) =>
  add(add(large, add(small, mul(exponent, number(-2.1219444e-4)))), mul(exponent, number(0.693359375))),
);
const log2 = logarithm((large, small, exponent) => add(mul(add(large, small), number(Math.LOG2E)), exponent));
const log10 = logarithm((large, small, exponent) =>
  add(
    add(mul(add(large, small), number(Math.LOG10E)), mul(exponent, number(4.6050390665e-6))),
    mul(exponent, number(0.301025390625)),
  ),
);

/** The logarithm of 1 + x as it is rounded, and what the rounding took away. */
const log1p: FloatUnary = (x, keep, multiplyAdd) => {
  const sum = keep(add(x, ones));
  const logOfSum = keep(log(sum, keep, multiplyAdd));
  const rest = div(sub(x, sub(sum, ones)), sum);
  const isPlain = v128.and(f32x4.gt(sum, number(0)), f32x4.lt(sum, infinity));
  return v128.select(x, v128.select(add(logOfSum, rest), logOfSum, isPlain), f32x4.eq(x, number(0)));
};

/** `x` as far as its bound, and the polynomials of its square there. */
function rational(
  x: Code,
  { bound, above, below }: RationalFunction,
  keep: Keep,
  multiplyAdd: MultiplyAdd,
): Record<'inside' | 'above' | 'below', Code> {
  const inside = keep(within(x, -bound, bound));
  const square = keep(mul(inside, inside));
  return {
    inside,
    above: polynomial(square, above, multiplyAdd),
    below: polynomial(square, below, multiplyAdd),
  };
}

/** Near 0 `x` itself. */
const tanh: FloatUnary = (x, keep, multiplyAdd) => {
  const { inside, above, below } = rational(x, tanhRational, keep, multiplyAdd);
  return v128.select(x, div(mul(inside, above), below), f32x4.lt(f32x4.abs(x), number(0.0004)));
};

const erf: FloatUnary = (x, keep, multiplyAdd) => {
  const { inside, above, below } = rational(x, erfRational, keep, multiplyAdd);
  return mul(inside, div(above, below));
};

/** What sines and cosines are to a quadrant and what is left of the angle, in [−π/4, π/4]; |x| ≤ `LARGEST_ANGLE`. */
const ofAngle =
  (shift: number): FloatUnary =>
  (x, keep, multiplyAdd) => {
    const quadrant = keep(f32x4.nearest(mul(x, number(0.63661975))));
    // π/2 in three parts, of which the products with the first two are exact.
    const rest = [1.5703125, 0.0004837512969970703, 0.00000007549789954891882].reduce<Code>(
      (left, part) => multiplyAdd(quadrant, number(-part), left),
      x,
    );
    const angle = keep(rest);
    const square = keep(mul(angle, angle));
    const odd = polynomial(square, [-0.16666654, 0.008332161, -0.00019515296], multiplyAdd);
    const sine = multiplyAdd(mul(angle, square), odd, angle);
    const even = polynomial(square, [0.041666646, -0.0013887316, 0.000024433157], multiplyAdd);
    const cosine = multiplyAdd(mul(square, square), even, multiplyAdd(square, number(-0.5), ones));
    const turn = keep(i32x4.add(i32x4.ofFloats(quadrant), sized(shift)));
    const isOdd = i32x4.ne(v128.and(turn, sized(1)), v128.zero);
    const sign = i32x4.shiftLeft(v128.and(turn, sized(2)), i32.const(30));
    return v128.xor(v128.select(cosine, sine, isOdd), sign);
  };

/** Beyond, the parts of π/2 have too few digits. */
export const LARGEST_ANGLE = 8000;

/** To the nearest half: by its last place where that is normal, by an addition that rounds at the place where it is not. */
export const half: Unary = (x, keep) => {
  const size = keep(v128.and(x, sizes));
  const lastPlace = v128.and(i32x4.shiftRightUnsigned(size, i32.const(13)), sized(1));
  const normal = v128.and(i32x4.add(i32x4.add(size, sized(0xfff)), lastPlace), sized(-0x2000));
  const shifted = i32x4.sub(add(size, number(0.5)), sized(0x3f000000));
  const subnormal = mul(f32x4.ofIntegers(shifted), number(2 ** -24));
  const rounded = keep(v128.select(subnormal, normal, i32x4.lt(size, sized(0x38800000))));
  const inRange = keep(v128.select(infinity, rounded, i32x4.ge(size, sized(0x477ff000))));
  return withSign(v128.select(x, inRange, isNan(x)), x);
};

export const bfloat: Unary = (x) => {
  const lastPlace = v128.and(i32x4.shiftRightUnsigned(x, i32.const(16)), sized(1));
  const rounded = v128.and(i32x4.add(i32x4.add(x, sized(0x7fff)), lastPlace), sized(-0x10000));
  return v128.select(x, rounded, isNan(x));
};

/** Halves as floats, of their bits. */
export const ofHalfBits: Unary = (bits, keep) => {
  const size = keep(i32x4.shiftLeft(v128.and(bits, sized(0x7fff)), i32.const(13)));
  const finite = mul(size, number(2 ** 112));
  const special = v128.or(size, infinity);
  const value = v128.select(special, finite, i32x4.ge(size, sized(0x0f800000)));
  return v128.or(value, i32x4.shiftLeft(v128.and(bits, sized(0x8000)), i32.const(16)));
};

/** The bits of floats that are rounded to halves here. */
export const toHalfBits: Unary = (x, keep) => {
  const rounded = keep(half(x, keep));
  const size = keep(v128.and(rounded, sizes));
  const subnormal = i32x4.ofFloats(mul(size, number(2 ** 24)));
  const normal = i32x4.shiftRightUnsigned(i32x4.sub(size, sized(112 << 23)), i32.const(13));
  const finite = keep(v128.select(subnormal, normal, i32x4.lt(size, sized(0x38800000))));
  const inRange = keep(v128.select(sized(0x7c00), finite, f32x4.eq(size, infinity)));
  const bits = v128.select(sized(0x7e00), inRange, isNan(rounded));
  return v128.or(bits, i32x4.shiftRightUnsigned(v128.and(rounded, signs), i32.const(16)));
};

/** The bits of floats that are rounded to bfloat16 here. */
export const toBfloatBits: Unary = (x, keep) =>
  v128.select(sized(0x7fc0), i32x4.shiftRightUnsigned(keep(bfloat(x, keep)), i32.const(16)), isNan(x));

const { unary, binary } = plainFunctions(f32x4, sizes);
const same = (x: Code): Code => x;

export const singles: Floats = {
  dtype: 'float32',
  lanes: 4,
  code: f32x4,
  unary: {
    ...unary,
    exp,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sin: ofAngle(0),
    cos: ofAngle(1),
    tanh,
    erf,
    signbit: (x) => i32x4.shiftRight(x, i32.const(31)),
    single: same,
    half,
    bfloat,
  },
  binary,
  narrow: same,
  widen: same,
  ofSingles: same,
  toSingles: same,
  ofLong: (x) => f32x4.splat(f32.ofLong(x)),
  toLong: (x) => i64.ofFloat(f32x4.extract(x, 0)),
  toIntegers: i32x4.ofFloats,
  extract: (x, lane) => f64.ofFloat(f32x4.extract(x, lane)),
  replace: (x, lane, value) => f32x4.replace(x, lane, f32.ofDouble(value)),
  splat: (value) => f32x4.splat(f32.ofDouble(value)),
  load: v128.loadSplat,
  loadLane: v128.loadLane,
  storeLane: v128.storeLane,
};
