import type { BinaryFunction, UnaryFunction } from '@cresset/tensorexpr';
import { v128, type Code, type f32x4, type f64x2 } from '../../code.ts';

/** Puts a value where it can be read as often as one likes. */
export type Keep = (vector: Code) => Code;

/** `x · y + sum`, rounded once where the engine has an instruction for that: what is written with it is right either way. */
export type MultiplyAdd = (x: Code, y: Code, sum: Code) => Code;

export type Unary = (x: Code, keep: Keep) => Code;
export type FloatUnary = (x: Code, keep: Keep, multiplyAdd: MultiplyAdd) => Code;
export type Binary = (x: Code, y: Code, keep: Keep) => Code;

/**
 * How a kernel computes with floats: four of single precision in a vector, or two of double precision where an operand is of float64. Integers and
 * truth values beside two doubles are the lower two of four; what the others hold counts nowhere.
 */
export interface Floats {
  readonly dtype: 'float32' | 'float64';
  /** How many a vector has. */
  readonly lanes: 4 | 2;
  readonly code: typeof f32x4 | typeof f64x2;
  /** Functions of vectors; those that are missing are worked out one by one. Predicates and comparisons give masks of a float's size. */
  readonly unary: Partial<Record<UnaryFunction, FloatUnary>>;
  readonly binary: Partial<Record<BinaryFunction, Binary>>;
  /** A mask of floats as one of integers, and back. */
  narrow(mask: Code, keep: Keep): Code;
  widen(mask: Code): Code;
  /** Of four floats of single precision, and back. */
  ofSingles(x: Code): Code;
  toSingles(x: Code): Code;
  ofLong(x: Code): Code;
  toLong(x: Code): Code;
  /** Towards zero. */
  toIntegers(x: Code): Code;
  /** One as a number of double precision, and a vector with one of its numbers replaced by such. */
  extract(x: Code, lane: number): Code;
  replace(x: Code, lane: number, value: Code): Code;
  splat(value: Code): Code;
  /** One from memory, everywhere in a vector. */
  load(address: Code, offset?: number): Code;
  /** One from memory, in its place in a vector. */
  loadLane(address: Code, vector: Code, lane: number): Code;
  storeLane(address: Code, vector: Code, lane: number): Code;
}

/** `c₀ + x (c₁ + x (c₂ + …))`. */
export const polynomial = (
  { const: number }: Floats['code'],
  x: Code,
  coefficients: readonly number[],
  multiplyAdd: MultiplyAdd,
): Code =>
  coefficients
    .slice(0, -1)
    .reduceRight<Code>((sum, coefficient) => multiplyAdd(x, sum, number(coefficient)), number(coefficients.at(-1)!));

/** What instructions do, for floats of either size. */
export function plainFunctions(
  { add, sub, mul, div, lt, gt, le, ge, eq, ne, min, max, ...code }: typeof f32x4 | typeof f64x2,
  sizes: Code,
): Pick<Floats, 'unary' | 'binary'> {
  const [zero, ones, infinity] = [0, 1, Infinity].map(code.const);
  const isNan = (x: Code): Code => ne(x, x);
  return {
    unary: {
      neg: code.neg,
      abs: code.abs,
      sign: (x) => v128.or(v128.and(gt(x, zero), ones), v128.and(lt(x, zero), code.const(-1))),
      not: (x) => v128.and(eq(x, zero), ones),
      sqrt: code.sqrt,
      rsqrt: (x) => div(ones, code.sqrt(x)),
      floor: code.floor,
      ceil: code.ceil,
      round: code.nearest,
      trunc: code.trunc,
      isnan: isNan,
      isinf: (x) => eq(code.abs(x), infinity),
      isfinite: (x) => lt(code.abs(x), infinity),
    },
    binary: {
      add,
      sub,
      mul,
      div,
      truncdiv: (x, y) => code.trunc(div(x, y)),
      copysign: (x, y) => v128.select(x, y, sizes),
      max,
      min,
      fmax: (x, y) => v128.select(y, v128.select(x, max(x, y), isNan(y)), isNan(x)),
      fmin: (x, y) => v128.select(y, v128.select(x, min(x, y), isNan(y)), isNan(x)),
      eq,
      ne,
      lt,
      le,
      gt,
      ge,
    },
  };
}

/** One instruction where the second of two values is a known number: a NaN stays, and so does the first of two zeros, as PyTorch's `relu` has it. */
export function beforeConstant(
  { code }: Floats,
  fn: BinaryFunction,
  value: number | bigint | boolean,
): Binary | undefined {
  if (Number.isNaN(Number(value))) return undefined;
  return fn === 'max' ? code.greater : fn === 'min' ? code.lesser : undefined;
}
