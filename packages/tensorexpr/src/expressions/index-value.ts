import {
  settle,
  symAdd,
  symbolOf,
  symFloorDiv,
  symGe,
  symMax,
  symMin,
  symMod,
  symMul,
  symProduct,
  symSub,
  type SymInt,
  type SymNode,
} from '@cresset/tensor';
import type { AxisExpr, BinaryFunction, Expr } from './expr.ts';

/** The value of an `i32` expression over constants and params, as of this launch; null where it depends on more, or
 * is to stay open. What is recorded holds for that value alone. */
export function indexValue(expr: Expr): number | null {
  const value = symIndexValue(expr);
  return value === null ? null : settle(value);
}

/** As `indexValue`, an expression where that may be another number the next time. */
export function symIndexValue(expr: Expr): SymInt | null {
  switch (expr.kind) {
    case 'const':
      return Number(expr.value);
    case 'param':
      // An index is no float.
      if (expr.sym) return symbolOf(expr.sym as SymNode);
      return expr.open ? null : Number(expr.value);
    case 'cast':
      return expr.type === 'i32' && expr.x.type !== 'float' ? symIndexValue(expr.x) : null;
    case 'unary': {
      const x = symIndexValue(expr.x);
      if (x === null || expr.fn !== 'neg') return null;
      return typeof x === 'number' ? -x | 0 : symMul(x, -1);
    }
    case 'binary': {
      const x = symIndexValue(expr.x);
      const y = x === null ? null : symIndexValue(expr.y);
      if (x === null || y === null) return null;
      return typeof x === 'number' && typeof y === 'number' ? valueOf(expr.fn, x, y) : symbolicValueOf(expr.fn, x, y);
    }
    default:
      return null;
  }
}

function valueOf(fn: BinaryFunction, x: number, y: number): number | null {
  switch (fn) {
    case 'add':
      return (x + y) | 0;
    case 'sub':
      return (x - y) | 0;
    case 'mul':
      return Math.imul(x, y);
    case 'truncdiv':
      return y === 0 ? null : Math.trunc(x / y) | 0;
    case 'floordiv':
      return y === 0 ? null : Math.floor(x / y) | 0;
    case 'fmod':
      return y === 0 ? null : (x % y) | 0;
    case 'remainder':
      return y === 0 ? null : (x - Math.floor(x / y) * y) | 0;
    case 'max':
    case 'fmax':
      return Math.max(x, y);
    case 'min':
    case 'fmin':
      return Math.min(x, y);
    default:
      return null;
  }
}

/** As `valueOf`: expressions of sizes stay within 32 bits, since what has more elements is refused when it is launched. */
function symbolicValueOf(fn: BinaryFunction, x: SymInt, y: SymInt): SymInt | null {
  switch (fn) {
    case 'add':
      return symAdd(x, y);
    case 'sub':
      return symSub(x, y);
    case 'mul':
      return symMul(x, y);
    case 'truncdiv':
    case 'floordiv':
    case 'fmod':
    case 'remainder':
      // Below zero, or by zero, each of them is another number.
      if (!symGe(x, 0) || !symGe(y, 1)) return valueOf(fn, settle(x), settle(y));
      return fn === 'truncdiv' || fn === 'floordiv' ? symFloorDiv(x, y) : symMod(x, y);
    case 'max':
    case 'fmax':
      return symMax(x, y);
    case 'min':
    case 'fmin':
      return symMin(x, y);
    default:
      return null;
  }
}

/** How many values an axis takes in this launch; what is recorded holds for so many alone. */
export const extentOf = (axis: AxisExpr): number => settle(symExtentOf(axis));

/** As `extentOf`, an expression where that may be another number the next time. */
export function symExtentOf(axis: AxisExpr): SymInt {
  const value = symIndexValue(axis.extent);
  if (value === null) throw new TypeError(`the extent of axis ${axis.name} is known only on the device`);
  return value;
}

/** The number of points of a loop over `axes`; what is recorded holds for so many alone. */
export function pointsOf(axes: readonly AxisExpr[]): number {
  let points = 1;
  for (const axis of axes) points *= extentOf(axis);
  return points;
}

/** As `pointsOf`, an expression where that may be another number the next time. */
export const symPointsOf = (axes: readonly AxisExpr[]): SymInt => symProduct(axes.map(symExtentOf));
