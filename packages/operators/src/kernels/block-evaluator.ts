import {
  childrenOf,
  floatBinary,
  floatUnary,
  integerBinary,
  integerUnary,
  nextafterSingle,
  type BinaryExpr,
  type BinaryFunction,
  type Expr,
  type UnaryExpr,
} from '@cresset/tensorexpr';
import { toInt64 } from './elements.ts';
import { blockSize, castBlock, IntegerRangeError, makeRegister, type Precision, type Register } from './blocks.ts';
import { OperatorError } from './errors.ts';

type Step = (count: number) => void;

/**
 * An expression made ready to be evaluated a block of elements at a time: one register a node, one tight loop a node and
 * block. Loads, reductions and the accumulator are leaves, whose registers are filled by whoever evaluates.
 */
export class BlockProgram {
  readonly #registers = new Map<Expr, Register>();
  readonly #steps: Step[] = [];
  readonly #precision: Precision;
  readonly #length: number;

  constructor(roots: readonly Expr[], precision: Precision, length = blockSize) {
    this.#precision = precision;
    this.#length = Math.min(length, blockSize);
    for (const root of roots) this.#compile(root);
  }

  /** The block of values of a node: a root's after `evaluate`, a leaf's to be filled before. */
  register(expr: Expr): Register {
    const register = this.#registers.get(expr);
    if (!register) throw new TypeError('this expression is not part of the program');
    return register;
  }

  has(expr: Expr): boolean {
    return this.#registers.has(expr);
  }

  /** Works on the first `count` values; throws IntegerRangeError where int64 needs bigints. */
  evaluate(count: number): void {
    for (const step of this.#steps) step(count);
  }

  #compile(expr: Expr): Register {
    const known = this.#registers.get(expr);
    if (known) return known;
    if (!isLeaf(expr)) for (const child of childrenOf(expr)) this.#compile(child);
    const register = makeRegister(expr.type, this.#precision, this.#length);
    this.#registers.set(expr, register);
    const step = this.#stepOf(expr, register);
    if (step) this.#steps.push(step);
    return register;
  }

  #stepOf(expr: Expr, out: Register): Step | null {
    switch (expr.kind) {
      case 'const':
      case 'param':
        fillRegister(out, expr.value);
        return null;
      case 'unary':
        return this.#unary(expr, out);
      case 'binary':
        return this.#binary(expr, out);
      case 'select': {
        const condition = this.register(expr.condition) as Uint8Array;
        const x = this.register(expr.x) as Float64Array;
        const y = this.register(expr.y) as Float64Array;
        const target = out as Float64Array;
        return (count) => {
          for (let i = 0; i < count; i++) target[i] = condition[i] !== 0 ? x[i] : y[i];
        };
      }
      case 'cast': {
        const source = this.register(expr.x);
        return (count) => castBlock(expr.x.type, expr.type, source, out, count);
      }
      case 'axis':
        throw new TypeError('a pointwise body names no axes');
      default:
        return null;
    }
  }

  #unary({ fn, x: operand }: UnaryExpr, out: Register): Step {
    const x = this.register(operand);
    if (x instanceof BigInt64Array) {
      const apply = integerUnary[fn];
      if (!apply) throw new TypeError(`${fn} is no function of integers`);
      // A predicate's register holds numbers.
      if (!(out instanceof BigInt64Array)) return (count) => each(count, (i) => (out[i] = Number(apply(x[i]))));
      return (count) => {
        for (let i = 0; i < count; i++) out[i] = apply(x[i]);
      };
    }
    const target = out as Float64Array;
    if (fn === 'not' && operand.type === 'i32') return (count) => each(count, (i) => (target[i] = ~x[i]));
    if (fn === 'not' && operand.type === 'i64') return (count) => each(count, (i) => (target[i] = -x[i] - 1));
    if (fn === 'neg') return (count) => negate(target, x as Float64Array, count);
    const apply = floatUnary[fn];
    const source = x as Float64Array;
    return (count) => {
      for (let i = 0; i < count; i++) target[i] = apply(source[i]);
    };
  }

  #binary(expr: BinaryExpr, out: Register): Step {
    const x = this.register(expr.x);
    const y = this.register(expr.y);
    if (x instanceof BigInt64Array) return exactStep(expr.fn, x, y as BigInt64Array, out);
    const source = x as Float64Array;
    const other = y as Float64Array;
    const target = out as Float64Array;
    if (expr.x.type === 'i32' || expr.x.type === 'i64') return integerStep(expr, source, other, target);
    if (expr.fn === 'nextafter' && !this.#precision.double) return mapped(nextafterSingle)(target, source, other);
    return (floatLoops[expr.fn] ??= mapped(floatBinary[expr.fn]))(target, source, other);
  }
}

const isLeaf = (expr: Expr): boolean => expr.kind === 'load' || expr.kind === 'reduce' || expr.kind === 'accumulator';

/** Sets every value of a register to a number of the program. */
export function fillRegister(register: Register, value: number | bigint | boolean): void {
  if (register instanceof BigInt64Array) {
    register.fill(typeof value === 'bigint' ? value : toInt64(Number(value)));
    return;
  }
  const isSafe = typeof value !== 'bigint' || BigInt(Number(value)) === value;
  if (!isSafe || (typeof value === 'bigint' && Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER))
    throw new IntegerRangeError();
  register.fill(Number(value));
}

function each(count: number, body: (i: number) => void): void {
  for (let i = 0; i < count; i++) body(i);
}

function negate(out: Float64Array, x: Float64Array, count: number): void {
  for (let i = 0; i < count; i++) out[i] = -x[i];
}

type Loop = (out: Float64Array, x: Float64Array, y: Float64Array) => Step;

function mapped(apply: (x: number, y: number) => number): Loop {
  return (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = apply(x[i], y[i]);
  };
}

// What nearly all time goes to has loops of its own, which the engine turns into straight machine code.
const floatLoops: Partial<Record<BinaryFunction, Loop>> = {
  add: (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = x[i] + y[i];
  },
  sub: (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = x[i] - y[i];
  },
  mul: (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = x[i] * y[i];
  },
  div: (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = x[i] / y[i];
  },
  max: (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = x[i] >= y[i] ? x[i] : Math.max(x[i], y[i]);
  },
  min: (out, x, y) => (count) => {
    for (let i = 0; i < count; i++) out[i] = x[i] <= y[i] ? x[i] : Math.min(x[i], y[i]);
  },
};

const divisions = new Set<BinaryFunction>(['truncdiv', 'floordiv', 'fmod', 'remainder']);
const bitwise = new Set<BinaryFunction>(['and', 'or', 'xor', 'shl', 'shr']);
const comparisons = new Set<BinaryFunction>(['eq', 'ne', 'lt', 'le', 'gt', 'ge']);

/** Integers in doubles: 32-bit ones wrap in their register, 64-bit ones are checked to stay exact. */
function integerStep({ fn, x: { type } }: BinaryExpr, x: Float64Array, y: Float64Array, out: Float64Array): Step {
  if (divisions.has(fn)) return checkingDivisor(y, divisionOf(fn, x, y, out));
  const plain = (): Step => (floatLoops[fn] ??= mapped(floatBinary[fn]))(out, x, y);
  if (comparisons.has(fn)) return plain();
  if (type === 'i32') {
    if (fn === 'mul') return mapped(Math.imul)(out, x, y);
    return fn === 'pow' ? mapped(power32)(out, x, y) : plain();
  }
  if (bitwise.has(fn)) return checkingWords(fn, x, y, plain());
  const step = fn === 'pow' ? mapped(powerExact)(out, x, y) : plain();
  return (count) => {
    step(count);
    for (let i = 0; i < count; i++) {
      if (!(Math.abs(out[i]) <= Number.MAX_SAFE_INTEGER)) throw new IntegerRangeError();
    }
  };
}

function divisionOf(fn: BinaryFunction, x: Float64Array, y: Float64Array, out: Float64Array): Step {
  // Quotients of integers below 2^53 are exact once the rest is taken off first; adding 0 turns −0 into 0.
  switch (fn) {
    case 'truncdiv':
      return mapped((a, b) => (a - (a % b)) / b + 0)(out, x, y);
    case 'floordiv':
      return mapped((a, b) => {
        const rest = a % b;
        return (a - rest) / b - (rest !== 0 && rest < 0 !== b < 0 ? 1 : 0) + 0;
      })(out, x, y);
    default:
      return mapped((a, b) => floatBinary[fn](a, b) + 0)(out, x, y);
  }
}

function checkingDivisor(y: Float64Array, step: Step): Step {
  return (count) => {
    for (let i = 0; i < count; i++) if (y[i] === 0) throw new OperatorError('ZeroDivisionError');
    step(count);
  };
}

/** Bitwise functions of doubles see 32 bits only. */
function checkingWords(fn: BinaryFunction, x: Float64Array, y: Float64Array, step: Step): Step {
  // Shifting left gains bits: only what stays within 31 is left to the fast path.
  return (count) => {
    for (let i = 0; i < count; i++) {
      if (x[i] !== (x[i] | 0) || y[i] !== (y[i] | 0)) throw new IntegerRangeError();
      if (fn === 'shl' && !(y[i] >= 0 && y[i] < 31 && Math.abs(x[i] * 2 ** y[i]) < 2 ** 31))
        throw new IntegerRangeError();
    }
    step(count);
  };
}

function power32(x: number, y: number): number {
  if (y < 0) return x === 1 ? 1 : x === -1 ? (y % 2 === 0 ? 1 : -1) : 0;
  let result = 1;
  for (let base = x, exponent = y; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = Math.imul(result, base);
    base = Math.imul(base, base);
  }
  return result;
}

function powerExact(x: number, y: number): number {
  if (y < 0) return x === 1 ? 1 : x === -1 ? (y % 2 === 0 ? 1 : -1) : 0;
  return x ** y;
}

function exactStep(fn: BinaryFunction, x: BigInt64Array, y: BigInt64Array, out: Register): Step {
  const apply = integerBinary[fn];
  if (!apply) throw new TypeError(`${fn} is no function of integers`);
  const isDivision = divisions.has(fn);
  return (count) => {
    for (let i = 0; i < count; i++) {
      if (isDivision && y[i] === 0n) throw new OperatorError('ZeroDivisionError');
      const value = apply(x[i], y[i]);
      out[i] = out instanceof BigInt64Array ? value : Number(value);
    }
  };
}

/** Runs `work` with int64 in doubles, and once more with bigints where a value does not fit. */
export function withIntegerFallback(work: (exact: boolean) => void): void {
  try {
    work(false);
  } catch (error) {
    if (!(error instanceof IntegerRangeError)) throw error;
    work(true);
  }
}
