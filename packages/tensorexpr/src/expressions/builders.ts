import { settle, type SymKind, type SymNode } from '@cresset/tensor';
import type {
  AccumulatorExpr,
  AxisExpr,
  BinaryFunction,
  Expr,
  ExprType,
  ParamExpr,
  ReduceExpr,
  ReduceFunction,
  UnaryFunction,
} from './expr.ts';

export function constant(type: ExprType, value: number | bigint | boolean): Expr {
  return { kind: 'const', type, value };
}

/** @param value of sizes that may be other numbers, an expression */
export function param(type: ExprType, value: number | bigint | boolean | SymNode<SymKind>): ParamExpr {
  return typeof value === 'object' ? new SymParam(type, value) : { kind: 'param', type, value };
}

/** A param that is an expression of sizes; who asks for its value goes by the number of now. */
class SymParam implements ParamExpr {
  readonly kind = 'param';

  constructor(
    readonly type: ExprType,
    readonly sym: SymNode<SymKind>,
  ) {}

  get value(): number {
    return settle(this.sym);
  }
}

export function axis(name: string, extent: Expr): AxisExpr {
  return { kind: 'axis', type: 'i32', name, extent };
}

const predicates = new Set<UnaryFunction>(['isnan', 'isinf', 'isfinite', 'signbit']);
const comparisons = new Set<BinaryFunction>(['eq', 'ne', 'lt', 'le', 'gt', 'ge']);

export function unary(fn: UnaryFunction, x: Expr): Expr {
  return { kind: 'unary', type: predicates.has(fn) ? 'bool' : x.type, fn, x };
}

/** Both sides must have one type; what is known already (`x + 0`, `x * 1`, constants) is folded. */
export function binary(fn: BinaryFunction, x: Expr, y: Expr): Expr {
  if (x.type !== y.type) throw new TypeError(`${fn} of ${x.type} and ${y.type}: cast one of them first`);
  if (x.type === 'i32') {
    const folded = foldIndex(fn, x, y);
    if (folded) return folded;
  }
  return { kind: 'binary', type: comparisons.has(fn) ? 'bool' : x.type, fn, x, y };
}

function foldIndex(fn: BinaryFunction, x: Expr, y: Expr): Expr | null {
  const left = x.kind === 'const' ? Number(x.value) : null;
  const right = y.kind === 'const' ? Number(y.value) : null;
  switch (fn) {
    case 'add':
      if (left === 0) return y;
      if (right === 0) return x;
      return left !== null && right !== null ? constant('i32', (left + right) | 0) : null;
    case 'sub':
      if (right === 0) return x;
      return left !== null && right !== null ? constant('i32', (left - right) | 0) : null;
    case 'mul':
      if (left === 0 || right === 0) return constant('i32', 0);
      if (left === 1) return y;
      if (right === 1) return x;
      return left !== null && right !== null ? constant('i32', Math.imul(left, right)) : null;
    case 'truncdiv':
    case 'floordiv':
      return right === 1 ? x : null;
    default:
      return null;
  }
}

export function select(condition: Expr, x: Expr, y: Expr): Expr {
  return { kind: 'select', type: x.type, condition, x, y };
}

export function cast(type: ExprType, x: Expr): Expr {
  return x.type === type ? x : { kind: 'cast', type, x };
}

export function reduce(fn: ReduceFunction, axes: readonly AxisExpr[], body: Expr): ReduceExpr {
  const type = fn === 'argmax' || fn === 'argmin' ? 'i64' : fn === 'any' || fn === 'all' ? 'bool' : body.type;
  return { kind: 'reduce', type, fn, axes, body };
}

export const accumulator: AccumulatorExpr = { kind: 'accumulator', type: 'float' };
