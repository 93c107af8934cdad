import type { AxisExpr, Expr } from './expr.ts';

/** The value of an `i32` expression over constants and params, as of this launch; null where it depends on more, or
 * is to stay open. */
export function indexValue(expr: Expr): number | null {
  switch (expr.kind) {
    case 'const':
      return Number(expr.value);
    case 'param':
      return expr.open ? null : Number(expr.value);
    case 'cast':
      return expr.type === 'i32' && expr.x.type !== 'float' ? indexValue(expr.x) : null;
    case 'unary': {
      const x = indexValue(expr.x);
      return x !== null && expr.fn === 'neg' ? -x | 0 : null;
    }
    case 'binary': {
      const x = indexValue(expr.x);
      const y = x === null ? null : indexValue(expr.y);
      if (x === null || y === null) return null;
      switch (expr.fn) {
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
    default:
      return null;
  }
}

/** How many values an axis takes in this launch. */
export function extentOf(axis: AxisExpr): number {
  const value = indexValue(axis.extent);
  if (value === null) throw new TypeError(`the extent of axis ${axis.name} is known only on the device`);
  return value;
}

/** The number of points of a loop over `axes`. */
export function pointsOf(axes: readonly AxisExpr[]): number {
  let points = 1;
  for (const axis of axes) points *= extentOf(axis);
  return points;
}
