import { symMatches } from '@cresset/tensor';
import { symExtentOf } from '../expressions/index-value.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { mapStore, type LoopNest } from '../kernels/kernel.ts';
import { computesDoubles } from '../kernels/precision.ts';
import { substitute } from '../expressions/substitute.ts';

/** Two nests of equally long loops as one, whose points do what those of both do; null where the loops differ, or the precision that they compute in. */
export function joinNests(first: LoopNest, second: LoopNest): LoopNest | null {
  if (!areAlike(first.axes, second.axes) || !areAlike(first.innerAxes, second.innerAxes)) return null;
  if (computesDoubles(first) !== computesDoubles(second)) return null;
  const own = [...first.axes, ...first.innerAxes];
  const axes = new Map<Expr, Expr>([...second.axes, ...second.innerAxes].map((axis, at) => [axis, own[at]]));
  const label = first.label === second.label ? first.label : `${first.label} and ${second.label}`;
  const renamed = second.stores.map((store) => mapStore(store, (expr) => substitute(expr, axes)));
  return { ...first, label, stores: [...first.stores, ...renamed] };
}

const areAlike = (a: readonly AxisExpr[], b: readonly AxisExpr[]): boolean =>
  a.length === b.length && a.every((axis, at) => symMatches(symExtentOf(axis), symExtentOf(b[at])));
