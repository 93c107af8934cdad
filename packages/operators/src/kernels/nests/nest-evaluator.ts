import type { Tensor } from '@cresset/tensor';
import {
  cast,
  childrenOf,
  exprTypeOf,
  extentOf,
  FreeAxes,
  neutralElement,
  pointsOf,
  workOf,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type LoopNest,
  type ReduceExpr,
} from '@cresset/tensorexpr';
import { bigintReader, numberReader, scalarWriter } from '../elements.ts';
import { stepOf, withIntegerFallback } from '../loops/block-evaluator.ts';
import { IntegerRangeError, blockSize, makeRegister, type Register } from '../loops/blocks.ts';
import { laneOf, mappedOne, rowStep, type Lane, type Step } from '../loops/lanes.ts';
import { checkPositions } from '../positions.ts';
import { PIECE_SIZE, type Pieces } from '../loops/pieces.ts';

/** What is worked out once for each value of some axes; null for those of a block of points. */
interface Level {
  readonly parent: Level | null;
  readonly axes: readonly AxisExpr[];
  readonly steps: Step[];
}

/**
 * Works out a nest in JavaScript, some points at a time: one lane a node, one loop a node and block. What does not change with the points is one number,
 * and a reduction goes over its axes around the loops of its body. Floats are doubles, which are rounded where they are stored.
 *
 * It takes nests without inner axes, which have nothing that several points share, and stores that join nothing: see `byLowering`.
 */
export function* evaluateNest(nest: LoopNest): Pieces {
  const count = pointsOf(nest.axes);
  if (count === 0) return;
  const steps = Math.max(1, workOf(nest).total / count);
  const length = Math.max(1, Math.min(blockSize, count, Math.floor(PIECE_SIZE / steps)));
  let program!: NestProgram;
  withIntegerFallback((exact) => void (program = new NestProgram(nest, length, exact)));
  let done = 0;
  for (let from = 0; from < count; from += length) {
    const points = Math.min(length, count - from);
    try {
      program.evaluate(from, points);
    } catch (error) {
      if (!(error instanceof IntegerRangeError)) throw error;
      program = new NestProgram(nest, length, true);
      program.evaluate(from, points);
    }
    program.store(points);
    done += points * steps;
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
}

/** Offsets are integers of 32 bits, as they are to kernels. */
function checkOperand({ sizes, strides, storageOffset }: Tensor): void {
  checkPositions(sizes.reduce((offset, size, dim) => offset + (size - 1) * strides[dim], storageOffset + 1));
}

class NestProgram {
  readonly #lanes = new Map<Expr, Lane>();
  readonly #freeAxes = new FreeAxes();
  readonly #once: Level = { parent: null, axes: [], steps: [] };
  readonly #block: Level;
  readonly #stores: ((points: number) => void)[];

  /** @param exact computes int64 with bigints */
  constructor(
    private readonly nest: LoopNest,
    private readonly length: number,
    private readonly exact: boolean,
  ) {
    this.#block = { parent: this.#once, axes: nest.axes, steps: [] };
    for (const axis of nest.axes) this.#lanes.set(axis, laneOf(new Int32Array(length), length));
    this.#stores = nest.stores.map(({ operand, offset, value, guard }) => {
      checkOperand(operand.tensor);
      const write = scalarWriter(operand.tensor);
      const stored = cast(exprTypeOf(operand.dtype), value);
      const [at, values, isMade] = [offset, stored, guard].map((expr) => expr && this.#compile(expr, this.#block));
      return (points) => {
        for (let point = 0; point < points; point++) {
          if (isMade && !valueAt(isMade, point)) continue;
          write(valueAt(at!, point) as number, valueAt(values!, point));
        }
      };
    });
    for (const step of this.#once.steps) step(1, 1);
  }

  /** Works out what the nest stores at so many points, from a flat position on. */
  evaluate(from: number, points: number): void {
    let rest = 1;
    for (const axis of this.nest.axes.toReversed()) {
      const extent = extentOf(axis);
      const values = this.#lanes.get(axis)!.array as Int32Array;
      for (let point = 0; point < points; point++) values[point] = Math.floor((from + point) / rest) % extent;
      rest *= extent;
    }
    for (const step of this.#block.steps) step(1, points);
  }

  store(points: number): void {
    for (const store of this.#stores) store(points);
  }

  /** Where the values of an expression are that is asked for in a level: they are worked out in the outermost that knows what they depend on. */
  #compile(expr: Expr, level: Level): Lane {
    const known = this.#lanes.get(expr);
    if (known) return known;
    const free = this.#freeAxes.of(expr);
    let home = level;
    while (home.parent && !home.axes.some((axis) => free.has(axis))) home = home.parent;
    const isWide = this.nest.axes.some((axis) => free.has(axis));
    const { exact, length } = this;
    const array = makeRegister(expr.type, { double: true, exact }, isWide ? length : 1);
    const out = laneOf(array, isWide ? length : 0);
    const step = this.#stepOf(expr, out, home);
    this.#lanes.set(expr, out);
    if (step) home.steps.push(isWide ? step : () => step(1, 1));
    return out;
  }

  #stepOf(expr: Expr, out: Lane, home: Level): Step | null {
    if (expr.kind === 'load') {
      checkOperand(expr.operand.tensor);
      return loadStep(expr, this.#compile(expr.offset, home), out);
    }
    if (expr.kind === 'reduce') return this.#reduceStep(expr, out, home);
    for (const child of childrenOf(expr)) this.#compile(child, home);
    // As processors convert: what is beyond the range is the least number.
    if (expr.kind === 'cast' && expr.type === 'i32' && expr.x.type === 'float') {
      const x = this.#lanes.get(expr.x)!;
      return rowStep(
        mappedOne((value) => (Math.abs(value) < 2 ** 31 ? value | 0 : -(2 ** 31))),
        out,
        x,
        x,
      );
    }
    return stepOf(expr, out, (child) => this.#lanes.get(child)!, { double: true, exact: this.exact });
  }

  #reduceStep(expr: ReduceExpr, out: Lane, home: Level): Step {
    const { fn, axes, body, type } = expr;
    const level: Level = { parent: home, axes, steps: [] };
    const own = axes.map((axis) => {
      const values = new Int32Array(1);
      this.#lanes.set(axis, laneOf(values, 0));
      return values;
    });
    const extents = axes.map(extentOf);
    const steps = pointsOf(axes);
    const term = this.#compile(fn === 'any' || fn === 'all' ? cast('bool', body) : body, level);
    const joined = joining(expr, out, term);
    const { value } = neutralElement(fn, type);
    const nothing = out.array instanceof BigInt64Array ? BigInt(value) : Number(value);
    return (rows, points) => {
      out.array.fill(nothing as never);
      for (let at = 0; at < steps; at++) {
        let rest = at;
        for (let dim = axes.length - 1; dim >= 0; dim--) {
          own[dim][0] = rest % extents[dim];
          rest = Math.floor(rest / extents[dim]);
        }
        for (const step of level.steps) step(rows, points);
        joined(at, points);
      }
    };
  }
}

const valueAt = ({ array, column }: Lane, point: number): number | bigint => array[column * point];

/** Elements of the places that a lane holds; what lies outside its tensor is not chosen by anybody. */
function loadStep({ operand: { tensor } }: LoadExpr, offset: Lane, out: Lane): Step {
  const values = out.array as Register;
  const { length } = tensor.storageArray();
  const read = readerOf(tensor, values);
  return (_, points) => {
    for (let point = 0; point < points; point++) {
      const at = Number(valueAt(offset, point));
      values[point] = (at >= 0 && at < length ? read(at) : values instanceof BigInt64Array ? 0n : 0) as never;
    }
  };
}

function readerOf(tensor: Tensor, values: Register): (offset: number) => number | bigint {
  if (values instanceof BigInt64Array) return bigintReader(tensor);
  const read = numberReader(tensor);
  if (tensor.dtype !== 'int64') return read;
  return (at) => exactly(read(at));
}

function exactly(value: number): number {
  if (!Number.isSafeInteger(value)) throw new IntegerRangeError();
  return value;
}

/** Takes the terms of a reduction in, each of which comes with its number. */
function joining({ fn, type }: ReduceExpr, out: Lane, term: Lane): (at: number, points: number) => void {
  const totals = out.array as Float64Array;
  if (fn === 'argmax' || fn === 'argmin') {
    const best: (number | bigint)[] = [];
    const beats = (a: number | bigint, b: number | bigint): boolean =>
      (Number.isNaN(a) && !Number.isNaN(b)) || (fn === 'argmax' ? a > b : a < b);
    const position = out.array instanceof BigInt64Array ? BigInt : Number;
    return (at, points) => {
      for (let point = 0; point < points; point++) {
        const value = valueAt(term, point);
        if (at > 0 && !beats(value, best[point])) continue;
        best[point] = value;
        totals[point] = position(at) as number;
      }
    };
  }
  const join = joins[fn === 'sum' && type === 'bool' ? 'any' : fn] as (a: number, b: number) => number;
  const isChecked = type === 'i64' && !(out.array instanceof BigInt64Array);
  return (_, points) => {
    for (let point = 0; point < points; point++) {
      const total = join(totals[point], valueAt(term, point) as number);
      totals[point] = isChecked ? exactly(total) : total;
    }
  };
}

type Join = (a: never, b: never) => unknown;

const joins: Readonly<Record<Exclude<ReduceExpr['fn'], 'argmax' | 'argmin'>, Join>> = {
  sum: (a: number, b: number) => a + b,
  prod: (a: number, b: number) => a * b,
  max: (a: number, b: number) => (a >= b || Number.isNaN(a) ? a : b),
  min: (a: number, b: number) => (a <= b || Number.isNaN(a) ? a : b),
  any: (a: number, b: number) => a | b,
  all: (a: number, b: number) => a & b,
};
