import type { Tensor } from '@cresset/tensor';
import {
  extentOf,
  FreeAxes,
  floatBinary,
  floatUnary,
  integerBinary,
  integerUnary,
  type AxisExpr,
  type BinaryExpr,
  type Expr,
  type ExprType,
  type Kernel,
  type ReduceExpr,
  type Store,
  type UnaryExpr,
} from '@cresset/tensorexpr';
import { readScalar, scalarWriter } from '../kernels/elements.ts';
import type { Scalar } from '../table/row.ts';

/** Runs kernels as they are written, element by element, for tests of lowerings without a device. */

type Value = number | bigint | boolean;
type Point = Map<AxisExpr, number>;

export function evaluateKernel(kernel: Kernel): void {
  if (kernel.kind === 'recurrence') {
    const { time, axes, innerAxes, stores } = kernel;
    forEachPoint([time], new Map(), (step) => {
      const writes: (() => void)[] = [];
      forEachPoint([...axes, ...innerAxes], step, (point) => {
        writes.push(...stores.map((store) => prepare(store, point, 0)));
      });
      for (const write of writes) write();
    });
    return;
  }
  if (kernel.kind === 'nest') {
    const axes = new FreeAxes();
    const isInner = ({ offset }: Store): boolean => kernel.innerAxes.some((own) => axes.of(offset).has(own));
    const inner = kernel.stores.filter(isInner);
    const outer = kernel.stores.filter((store) => !isInner(store));
    forEachPoint(kernel.axes, new Map(), (point) => {
      // All values are worked out before any is stored: a kernel may read what it overwrites.
      const writes = outer.map((store) => prepare(store, point, 0));
      forEachPoint(kernel.innerAxes, point, () => writes.push(...inner.map((store) => prepare(store, point, 0))));
      for (const write of writes) write();
    });
    return;
  }
  const { batch, m, n, k, left, right, stores } = kernel;
  forEachPoint([...batch, m, n], new Map(), (point) => {
    let sum = 0;
    forEachPoint([k], point, () => {
      sum += Number(evaluate(left, point, 0)) * Number(evaluate(right, point, 0));
    });
    for (const store of stores) prepare(store, point, sum)();
  });
}

function prepare({ operand, offset, value, guard }: Store, point: Point, accumulator: number): () => void {
  if (guard && !evaluate(guard, point, accumulator)) return () => undefined;
  const at = Number(evaluate(offset, point, accumulator));
  checkPlace(operand.tensor, at);
  const result = evaluate(value, point, accumulator);
  return () => scalarWriter(operand.tensor)(at, result as Scalar);
}

function checkPlace(tensor: Tensor, at: number): void {
  const size = tensor.storageArray().length;
  if (!(at >= 0 && at < size)) throw new RangeError(`element ${at} of ${size}`);
}

function forEachPoint(axes: readonly AxisExpr[], point: Point, visit: (point: Point) => void): void {
  if (axes.length === 0) {
    visit(point);
    return;
  }
  const [first, ...rest] = axes;
  const extent = extentOf(first);
  for (let i = 0; i < extent; i++) {
    point.set(first, i);
    forEachPoint(rest, point, visit);
  }
  point.delete(first);
}

function evaluate(expr: Expr, point: Point, accumulator: number): Value {
  const inner = (child: Expr): Value => evaluate(child, point, accumulator);
  switch (expr.kind) {
    case 'const':
    case 'param':
      return convert(expr.type, expr.value);
    case 'axis': {
      const value = point.get(expr);
      if (value === undefined) throw new ReferenceError(`axis ${expr.name} is used outside its loop`);
      return value;
    }
    case 'load': {
      const at = Number(inner(expr.offset));
      checkPlace(expr.operand.tensor, at);
      return convert(expr.type, readScalar(expr.operand.tensor, at) as Value);
    }
    case 'unary':
      return evaluateUnary(expr, inner(expr.x));
    case 'binary':
      return evaluateBinary(expr, inner(expr.x), () => inner(expr.y));
    case 'select':
      return inner(expr.condition) ? inner(expr.x) : inner(expr.y);
    case 'cast':
      return convert(expr.type, inner(expr.x));
    case 'reduce':
      return evaluateReduce(expr, point, accumulator);
    default:
      return accumulator;
  }
}

function convert(type: ExprType, value: Value): Value {
  if (type === 'float') return Number(value);
  if (type === 'bool') return Boolean(value);
  const integer = typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value)));
  return type === 'i64' ? BigInt.asIntN(64, integer) : Number(BigInt.asIntN(32, integer));
}

function evaluateUnary({ fn, x: { type } }: UnaryExpr, x: Value): Value {
  if (type === 'bool') return fn === 'not' ? !x : x;
  if (type === 'float') return fromNumber(fn, floatUnary[fn](Number(x)));
  return convert(type, integerUnary[fn]!(BigInt(x)));
}

const fromNumber = (fn: string, value: number): Value =>
  fn.startsWith('is') || fn === 'signbit' ? Boolean(value) : value;

const compare: Partial<Record<string, (x: Value, y: Value) => boolean>> = {
  eq: (x, y) => x === y,
  ne: (x, y) => x !== y,
  lt: (x, y) => x < y,
  le: (x, y) => x <= y,
  gt: (x, y) => x > y,
  ge: (x, y) => x >= y,
};

function evaluateBinary({ fn, x: { type } }: BinaryExpr, x: Value, second: () => Value): Value {
  if (type === 'bool' && fn === 'and') return Boolean(x && second());
  if (type === 'bool' && fn === 'or') return Boolean(x || second());
  const y = second();
  const comparison = compare[fn];
  if (comparison) return comparison(x, y);
  if (type === 'float') return floatBinary[fn](Number(x), Number(y));
  return convert(type, integerBinary[fn]!(BigInt(x), BigInt(y)));
}

function evaluateReduce({ fn, axes, body, type }: ReduceExpr, point: Point, accumulator: number): Value {
  const values: Value[] = [];
  forEachPoint(axes, point, () => values.push(evaluate(body, point, accumulator)));
  const beats = (a: Value, b: Value, more: boolean): boolean =>
    !Number.isNaN(b) && (Number.isNaN(a) || (more ? a > b : a < b));
  const best = (more: boolean): number =>
    values.reduce<number>((winner, value, at) => (beats(value, values[winner], more) ? at : winner), 0);
  switch (fn) {
    case 'sum':
      return values.reduce((a, b) => convert(type, (a as number) + (b as number)), convert(type, 0));
    case 'prod':
      return values.reduce((a, b) => convert(type, (a as number) * (b as number)), convert(type, 1));
    case 'any':
      return values.some(Boolean);
    case 'all':
      return values.every(Boolean);
    case 'max':
      return values.length === 0 ? -Infinity : values[best(true)];
    case 'min':
      return values.length === 0 ? Infinity : values[best(false)];
    default:
      return BigInt(best(fn === 'argmax'));
  }
}
