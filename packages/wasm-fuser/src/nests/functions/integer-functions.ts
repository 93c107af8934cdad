import type { BinaryFunction, UnaryFunction } from '@cresset/tensorexpr';
import { choose, i32, i32x4, i64, v128, type Code } from '../../code.ts';
import type { Binary, Unary } from './floats.ts';

/** What integers of both sizes have, one number at a time; operands can be read as often as one likes. Division by 0 gives 0. */
function scalarFunctions(type: typeof i32 | typeof i64, bits: number, number: (value: number) => Code) {
  const zero = number(0);
  const isNegative = (x: Code): Code => type.lt(x, zero);
  const shift =
    (by: Binary, beyond: Unary): Binary =>
    (x, y, keep) =>
      choose(type.ltUnsigned(y, number(bits)), by(x, y, keep), beyond(x, keep));
  // Neither 0 nor the quotient that is out of range may come to the instruction.
  const divisor = (y: Code): Code => choose(i32.or(type.eqz(y), type.eq(y, number(-1))), number(1), y);
  const quotient: Binary = (x, y) =>
    choose(type.eqz(y), zero, choose(type.eq(y, number(-1)), type.sub(zero, x), type.div(x, divisor(y))));
  const rest: Binary = (x, y) => choose(type.eqz(y), zero, type.rem(x, divisor(y)));
  const isUneven = (left: Code, x: Code, y: Code): Code =>
    i32.and(i32.eqz(type.eqz(left)), i32.xor(isNegative(x), isNegative(y)));
  const unary: Partial<Record<UnaryFunction, Unary>> = {
    neg: (x) => type.sub(zero, x),
    abs: (x) => choose(isNegative(x), type.sub(zero, x), x),
    sign: (x) => choose(isNegative(x), number(-1), choose(type.eqz(x), zero, number(1))),
    not: (x) => type.xor(x, number(-1)),
    signbit: isNegative,
  };
  const binary: Partial<Record<BinaryFunction, Binary>> = {
    add: type.add,
    sub: type.sub,
    mul: type.mul,
    truncdiv: quotient,
    fmod: rest,
    floordiv: (x, y, keep) => {
      const whole = keep(quotient(x, y, keep));
      const left = keep(rest(x, y, keep));
      return choose(isUneven(left, x, y), type.sub(whole, number(1)), whole);
    },
    remainder: (x, y, keep) => {
      const left = keep(rest(x, y, keep));
      return choose(isUneven(left, x, y), type.add(left, y), left);
    },
    max: (x, y) => choose(type.gt(x, y), x, y),
    min: (x, y) => choose(type.lt(x, y), x, y),
    fmax: (x, y) => choose(type.gt(x, y), x, y),
    fmin: (x, y) => choose(type.lt(x, y), x, y),
    eq: type.eq,
    ne: type.ne,
    lt: type.lt,
    le: type.le,
    gt: type.gt,
    ge: type.ge,
    and: type.and,
    or: type.or,
    xor: type.xor,
    shl: shift(type.shiftLeft, () => zero),
    shr: shift(type.shiftRight, (x) => type.shiftRight(x, number(bits - 1))),
  };
  return { unary, binary };
}

export const integers = scalarFunctions(i32, 32, i32.const);
export const longs = scalarFunctions(i64, 64, (value) => i64.const(BigInt(value)));

/** Four integers of 32 bits; what is missing is worked out lane by lane. Comparisons give masks. */
export const integerLanesUnary: Partial<Record<UnaryFunction, Unary>> = {
  neg: i32x4.neg,
  abs: i32x4.abs,
  not: v128.not,
  signbit: (x) => i32x4.lt(x, v128.zero),
};

export const integerLanesBinary: Partial<Record<BinaryFunction, Binary>> = {
  add: i32x4.add,
  sub: i32x4.sub,
  mul: i32x4.mul,
  max: i32x4.max,
  min: i32x4.min,
  fmax: i32x4.max,
  fmin: i32x4.min,
  eq: i32x4.eq,
  ne: i32x4.ne,
  lt: i32x4.lt,
  le: i32x4.le,
  gt: i32x4.gt,
  ge: i32x4.ge,
  and: v128.and,
  or: v128.or,
  xor: v128.xor,
};

/** Truth values, 0 and 1 or masks: `and` of the one form is that of the other. */
export function truthFunctions(isLanes: boolean): {
  readonly not: (x: Code) => Code;
  readonly binary: Partial<Record<BinaryFunction, (x: Code, y: Code) => Code>>;
} {
  const { and, or, xor } = isLanes ? v128 : i32;
  const not = isLanes ? v128.not : i32.eqz;
  return {
    not,
    binary: {
      eq: (x, y) => not(xor(x, y)),
      ne: xor,
      lt: (x, y) => and(not(x), y),
      le: (x, y) => or(not(x), y),
      gt: (x, y) => and(x, not(y)),
      ge: (x, y) => or(x, not(y)),
      add: or,
      mul: and,
      max: or,
      min: and,
      fmax: or,
      fmin: and,
      and,
      or,
      xor,
    },
  };
}
