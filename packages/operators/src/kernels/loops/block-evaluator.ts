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
import { toInt64 } from '../elements.ts';
import { blockSize, castLoop, IntegerRangeError, makeRegister, type Precision, type Register } from './blocks.ts';
import { OperatorError } from '../errors.ts';
import { hostKernels } from '../host-kernels.ts';
import {
  exactOne,
  exactTwo,
  laneOf,
  mappedOne,
  mappedTwo,
  rowLoops,
  rowStep,
  type Lane,
  type RowLoop,
  type Step,
} from './lanes.ts';

/**
 * An expression made ready to be evaluated a piece of an index space at a time: one lane a node, one tight loop a node and piece. Loads,
 * reductions and the accumulator are leaves, whose lanes are filled, or turned to memory that is there, by whoever evaluates. What
 * depends on no element is worked out once, by `begin`.
 */
export class BlockProgram {
  readonly #lanes = new Map<Expr, Lane>();
  readonly #first: Step[] = [];
  readonly #steps: Step[] = [];
  readonly #precision: Precision;
  readonly #length: number;
  readonly #width: number;

  /**
   * @param length values of a piece at most
   * @param width columns of a row of values in memory of the program's own
   * @param shared leaves of one value for all elements
   */
  constructor(
    roots: readonly Expr[],
    precision: Precision,
    length = blockSize,
    width = length,
    readonly shared: ReadonlySet<Expr> = new Set(),
  ) {
    this.#precision = precision;
    this.#length = length;
    this.#width = width;
    for (const root of roots) this.#compile(root);
  }

  /** Where the values of a node are: a root's after `evaluate`, a leaf's to be filled before. */
  lane(expr: Expr): Lane {
    const lane = this.#lanes.get(expr);
    if (!lane) throw new TypeError('this expression is not part of the program');
    return lane;
  }

  /** As `lane`, of a node whose values lie in memory of the program's own. */
  register(expr: Expr): Register {
    return this.lane(expr).array as Register;
  }

  has(expr: Expr): boolean {
    return this.#lanes.has(expr);
  }

  /** Whether a node has one value for all elements. */
  isShared(expr: Expr): boolean {
    return this.lane(expr).column === 0;
  }

  /** How many nodes are worked out for every piece. */
  get stepCount(): number {
    return this.#steps.length;
  }

  /** Works out what all elements share, once its leaves are filled; throws IntegerRangeError where int64 needs bigints. */
  begin(): void {
    for (const step of this.#first) step(1, 1);
  }

  /** Works on a piece; throws IntegerRangeError where int64 needs bigints. */
  evaluate(rows: number, columns: number): void {
    for (const step of this.#steps) step(rows, columns);
  }

  #compile(expr: Expr): void {
    if (this.#lanes.has(expr)) return;
    const isLeaf = leafKinds.has(expr.kind);
    const children = isLeaf ? [] : childrenOf(expr);
    for (const child of children) this.#compile(child);
    const isShared = isLeaf ? this.shared.has(expr) : children.every((child) => this.isShared(child));
    const array = makeRegister(expr.type, this.#precision, isShared ? 1 : this.#length);
    const lane = laneOf(array, isShared ? 0 : this.#width);
    this.#lanes.set(expr, lane);
    if (expr.kind === 'axis') throw new TypeError('a pointwise body names no axes');
    const step = stepOf(expr, lane, (child) => this.lane(child), this.#precision);
    if (step) (isShared ? this.#first : this.#steps).push(step);
  }
}

/** Tells where the values of a node's children are. */
export type LaneOf = (expr: Expr) => Lane;

/** What works out a node from its children; null where it is a leaf, or known. */
export function stepOf(expr: Expr, out: Lane, lane: LaneOf, precision: Precision): Step | null {
  switch (expr.kind) {
    case 'const':
    case 'param':
      fillRegister(out.array as Register, expr.value);
      return null;
    case 'unary':
      return unaryStep(expr, out, lane, precision);
    case 'binary':
      return binaryStep(expr, out, lane, precision);
    case 'select':
      return selectStep(lane(expr.condition), lane(expr.x), lane(expr.y), out);
    case 'cast': {
      const x = lane(expr.x);
      return rowStep(castLoop(expr.x.type, expr.type, x.array as Register, out.array as Register), out, x, x);
    }
    default:
      return null;
  }
}

function unaryStep({ fn, x: operand }: UnaryExpr, out: Lane, lane: LaneOf, precision: Precision): Step {
  const x = lane(operand);
  if (x.array instanceof BigInt64Array) {
    const apply = integerUnary[fn];
    if (!apply) throw new TypeError(`${fn} is no function of integers`);
    // A predicate's register holds numbers.
    const loop = out.array instanceof BigInt64Array ? exactOne(apply) : exactOne((a) => Number(apply(a)));
    return rowStep(loop, out, x, x);
  }
  if (fn === 'not' && operand.type === 'i32') {
    const loop = mappedOne((a) => ~a);
    return rowStep(loop, out, x, x);
  }
  if (fn === 'not' && operand.type === 'i64') {
    const loop = mappedOne((a) => -a - 1);
    return rowStep(loop, out, x, x);
  }
  return singleStep(fn, operand, out, x, x, precision) ?? rowStep(ownLoops[fn] ?? mappedOne(floatUnary[fn]), out, x, x);
}

function binaryStep(expr: BinaryExpr, out: Lane, lane: LaneOf, precision: Precision): Step {
  const x = lane(expr.x);
  const y = lane(expr.y);
  if (x.array instanceof BigInt64Array) return exactStep(expr.fn, x, y, out);
  if (expr.x.type === 'i32' || expr.x.type === 'i64') return integerStep(expr, x, y, out);
  if (expr.fn === 'nextafter' && !precision.double) return rowStep(mappedTwo(nextafterSingle), out, x, y);
  return singleStep(expr.fn, expr.x, out, x, y, precision) ?? rowStep(loopOf(expr.fn), out, x, y);
}

/** The step of a function that has a loop for single precision, where that is computed in. */
function singleStep(fn: string, { type }: Expr, out: Lane, x: Lane, y: Lane, { double }: Precision): Step | null {
  const loop = type === 'float' && !double ? hostKernels.singleLoops?.[fn] : undefined;
  return loop ? (rows, columns) => loop(out, x, y, rows, columns) : null;
}

const leafKinds: ReadonlySet<Expr['kind']> = new Set(['load', 'reduce', 'accumulator']);

const ownLoops: Partial<Record<string, RowLoop>> = rowLoops;
const loopOf = (fn: BinaryFunction): RowLoop => ownLoops[fn] ?? mappedTwo(floatBinary[fn]);

function selectStep(condition: Lane, x: Lane, y: Lane, out: Lane): Step {
  return (rows, columns) => {
    const flags = condition.array as Uint8Array;
    const yes = x.array as Float64Array;
    const no = y.array as Float64Array;
    const target = out.array as Float64Array;
    for (let row = 0; row < rows; row++) {
      let flag = condition.at + row * condition.row;
      let i = x.at + row * x.row;
      let j = y.at + row * y.row;
      let at = out.at + row * out.row;
      for (let n = 0; n < columns; n++) {
        target[at] = flags[flag] !== 0 ? yes[i] : no[j];
        flag += condition.column;
        i += x.column;
        j += y.column;
        at += out.column;
      }
    }
  };
}

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

/** Quotients of integers below 2^53 are exact once the rest is taken off first; adding 0 turns −0 into 0. */
const divisions = new Map<BinaryFunction, (a: number, b: number) => number>([
  ['truncdiv', (a, b) => (a - (a % b)) / b + 0],
  [
    'floordiv',
    (a, b) => {
      const rest = a % b;
      return (a - rest) / b - (rest !== 0 && rest < 0 !== b < 0 ? 1 : 0) + 0;
    },
  ],
  ['fmod', (a, b) => (a % b) + 0],
  ['remainder', (a, b) => floatBinary.remainder(a, b) + 0],
]);
const bitwise = new Set<BinaryFunction>(['and', 'or', 'xor', 'shl', 'shr']);
const comparisons = new Set<BinaryFunction>(['eq', 'ne', 'lt', 'le', 'gt', 'ge']);

/** Integers in doubles: 32-bit ones wrap in their register, 64-bit ones are checked to stay exact. */
function integerStep({ fn, x: { type } }: BinaryExpr, x: Lane, y: Lane, out: Lane): Step {
  if (divisions.has(fn)) return checking(y, isDivisor, rowStep(mappedTwo(divisions.get(fn)!), out, x, y));
  if (type === 'i32' && (fn === 'mul' || fn === 'pow')) {
    return rowStep(mappedTwo(fn === 'mul' ? Math.imul : power32), out, x, y);
  }
  if (comparisons.has(fn) || type === 'i32') return rowStep(loopOf(fn), out, x, y);
  // Bitwise functions of doubles see 32 bits only.
  if (bitwise.has(fn)) {
    // Shifting left gains bits: only what stays within 31 is left to the fast path.
    const apply = fn === 'shl' ? shiftExact : floatBinary[fn];
    return checking(x, isWord, checking(y, isWord, checked(rowStep(mappedTwo(apply), out, x, y), out)));
  }
  return checked(rowStep(fn === 'pow' ? mappedTwo(powerExact) : loopOf(fn), out, x, y), out);
}

const shiftExact = (x: number, y: number): number =>
  y >= 0 && y < 31 && Math.abs(x * 2 ** y) < 2 ** 31 ? x << y : NaN;

function isDivisor(value: number): boolean {
  if (value === 0) throw new OperatorError('ZeroDivisionError');
  return true;
}

const isWord = (value: number): boolean => value === (value | 0);
const isExact = (value: number): boolean => Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** Does a step whose result has to be exact. */
const checked =
  (step: Step, out: Lane): Step =>
  (rows, columns) => {
    step(rows, columns);
    checkEach(out, isExact, rows, columns);
  };

/** Does a step once all values of one of its arguments are known to be good. */
const checking =
  (lane: Lane, isGood: (value: number) => boolean, step: Step): Step =>
  (rows, columns) => {
    checkEach(lane, isGood, rows, columns);
    step(rows, columns);
  };

function checkEach(
  { array, at, row, column }: Lane,
  isGood: (value: number) => boolean,
  rows: number,
  columns: number,
) {
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      if (!isGood((array as Float64Array)[at + r * row + c * column])) throw new IntegerRangeError();
    }
  }
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

function exactStep(fn: BinaryFunction, x: Lane, y: Lane, out: Lane): Step {
  const apply = integerBinary[fn];
  if (!apply) throw new TypeError(`${fn} is no function of integers`);
  const isDivision = divisions.has(fn);
  const result = out.array instanceof BigInt64Array ? (value: bigint) => value : Number;
  return rowStep(
    exactTwo((a, b) => {
      if (isDivision && b === 0n) throw new OperatorError('ZeroDivisionError');
      return result(apply(a, b));
    }),
    out,
    x,
    y,
  );
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
