import { FreeAxes } from '../expressions/expr-children.ts';
import type { Expr, ReduceExpr } from '../expressions/expr.ts';
import { pointsOf } from '../expressions/index-value.ts';
import { substitute } from '../expressions/substitute.ts';
import { reductionsIn } from '../expressions/walk.ts';
import { expressionsOf, mapStore, type LoopNest } from './kernel.ts';

/** A reduction over so many elements that is worked out once for a point, and contains no other such one. */
export function longReduction(nest: LoopNest, longRow: number, done: ReadonlySet<ReduceExpr>): ReduceExpr | null {
  const freeAxes = new FreeAxes();
  const inner = new Set(nest.innerAxes);
  const outer = new Set(nest.axes);
  const candidates = reductionsIn(nest.stores.flatMap(expressionsOf)).filter(
    (reduction) =>
      !done.has(reduction) &&
      reduction.fn !== 'argmax' &&
      reduction.fn !== 'argmin' &&
      pointsOf(reduction.axes) >= longRow &&
      [...freeAxes.of(reduction)].every((free) => outer.has(free) && !inner.has(free)),
  );
  const contains = (one: ReduceExpr, other: ReduceExpr): boolean => reductionsIn([one.body]).includes(other);
  return candidates.find((one) => !candidates.some((other) => other !== one && contains(one, other))) ?? null;
}

/** A nest with another value in the place of a reduction. */
export function withReplacement(nest: LoopNest, reduction: ReduceExpr, replacement: Expr): LoopNest {
  const map = new Map<Expr, Expr>([[reduction, replacement]]);
  return { ...nest, stores: nest.stores.map((store) => mapStore(store, (expr) => substitute(expr, map))) };
}
