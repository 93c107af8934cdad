import { f32x4, f64, f64x2, i32, i32x4, i64, i64x2, v128 } from '../../code.ts';
import { plainFunctions, polynomial, type Floats, type FloatUnary } from './floats.ts';
import { bfloat, half } from './float-functions.ts';

const { unary, binary } = plainFunctions(f64x2, v128.words(-1, 0x7fffffff, -1, 0x7fffffff));

const { add, sub, mul, const: number } = f64x2;

/** 1.5 · 2⁵²: what is added to it is rounded to a whole number, which is then in its last bits. */
const ROUNDING = 1.5 * 2 ** 52;
/** ln 2 in two parts, of which the products of the first with whole numbers of eleven bits are exact. */
const LN2 = [0.6931471803691238, 1.9082149292705877e-10] as const;

/** 1 / 2!, 1 / 3!, … to 1 / 13!: what is left of the series is 4e-18 of the power where |r| is at most half of ln 2. */
const reciprocals = Array.from({ length: 12 }, (_, at) => {
  let factorial = 1;
  for (let factor = 2; factor <= at + 2; factor++) factorial *= factor;
  return 1 / factorial;
});

/** `x = n ln 2 + r`, and 2ⁿ in two factors, so that the borders of the range are right. */
const exp: FloatUnary = (x, keep, multiplyAdd) => {
  const inside = keep(f64x2.lesser(f64x2.greater(x, number(-746)), number(710)));
  const rounded = keep(multiplyAdd(inside, number(Math.LOG2E), number(ROUNDING)));
  const n = keep(sub(rounded, number(ROUNDING)));
  const r = keep(multiplyAdd(n, number(-LN2[1]), multiplyAdd(n, number(-LN2[0]), inside)));
  const mantissa = add(number(1), multiplyAdd(mul(r, r), polynomial(f64x2, r, reciprocals, multiplyAdd), r));
  const first = keep(v128.and(i64x2.shiftLeft(rounded, i32.const(51)), v128.words(0, -0x100000, 0, -0x100000)));
  const rest = i64x2.sub(i64x2.shiftLeft(rounded, i32.const(52)), first);
  return mul(mul(mantissa, i64x2.add(first, number(1))), i64x2.add(rest, number(1)));
};

/** Functions of halves are those of singles: PyTorch rounds twice too. */
export const doubles: Floats = {
  dtype: 'float64',
  lanes: 2,
  code: f64x2,
  unary: {
    ...unary,
    exp,
    signbit: (x) => i64x2.shiftRight(x, i32.const(63)),
    single: (x) => f64x2.ofFloats(f32x4.ofDoubles(x)),
    half: (x, keep) => f64x2.ofFloats(half(keep(f32x4.ofDoubles(x)), keep)),
    bfloat: (x, keep) => f64x2.ofFloats(bfloat(keep(f32x4.ofDoubles(x)), keep)),
  },
  binary,
  narrow: (mask, keep) => {
    const kept = keep(mask);
    return v128.shuffle(kept, kept, [0, 2, 0, 2]);
  },
  widen: i64x2.ofIntegers,
  ofSingles: f64x2.ofFloats,
  toSingles: f32x4.ofDoubles,
  ofLong: (x) => f64x2.splat(f64.ofLong(x)),
  toLong: (x) => i64.ofDouble(f64x2.extract(x, 0)),
  toIntegers: i32x4.ofDoubles,
  extract: f64x2.extract,
  replace: f64x2.replace,
  splat: f64x2.splat,
  load: v128.loadSplatPair,
  loadLane: v128.loadHalf,
  storeLane: v128.storeTwoLanes,
};
