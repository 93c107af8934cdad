import type { AxisExpr, Expr, Store, TensorView } from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';

/** One kernel that stores an expression over all elements of a tensor, and notes what is wrong on the way. */
export function launchCopy(
  label: string,
  axes: readonly AxisExpr[],
  target: TensorView,
  value: Expr,
  context: LoweringContext,
  faults: readonly Store[] = [],
): void {
  const store = { operand: target.operand, offset: target.offsetAt(axes), value };
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [store, ...faults] });
}
