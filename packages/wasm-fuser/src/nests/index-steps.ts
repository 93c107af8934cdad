import { binary, constant, type AxisExpr, type Expr, type FreeAxes, childrenOf } from '@cresset/tensorexpr';

/** By how much an index grows from step to step of an axis; null where that is not the same everywhere. */
export function strideOf(index: Expr, axis: AxisExpr, freeAxes: FreeAxes): Expr | null {
  if (index === axis) return constant('i32', 1);
  if (!freeAxes.of(index).has(axis)) return constant('i32', 0);
  if (index.kind === 'unary' && index.fn === 'neg') {
    const stride = strideOf(index.x, axis, freeAxes);
    return stride && binary('sub', constant('i32', 0), stride);
  }
  if (index.kind !== 'binary') return null;
  const { fn, x, y } = index;
  if (fn === 'add' || fn === 'sub') {
    const [left, right] = [x, y].map((each) => strideOf(each, axis, freeAxes));
    return left && right && binary(fn, left, right);
  }
  if (fn !== 'mul') return null;
  for (const [factor, other] of [
    [x, y],
    [y, x],
  ]) {
    if (freeAxes.of(factor).has(axis)) continue;
    const stride = strideOf(other, axis, freeAxes);
    return stride && binary('mul', stride, factor);
  }
  return null;
}

export const isOne = (expr: Expr): boolean => expr.kind === 'const' && expr.value === 1;

/** What an index is the sum of. */
export function termsOf(index: Expr): Expr[] {
  return index.kind === 'binary' && index.fn === 'add' ? [...termsOf(index.x), ...termsOf(index.y)] : [index];
}

/** Whether an index goes by elements of tensors. */
export function hasLoad(expr: Expr): boolean {
  return expr.kind === 'load' || childrenOf(expr).some(hasLoad);
}
