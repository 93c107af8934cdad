import { eachChild } from './expr-children.ts';
import { remembered } from '../remembered.ts';
import type { Expr, LoadExpr, ReduceExpr } from './expr.ts';

/**
 * Calls `enter` with expressions and all that they are made of: each once, before what it is made of, which is left out where `enter` gives
 * false.
 */
export function walk(roots: readonly Expr[], enter: (expr: Expr) => boolean | void): void {
  const seen = new Set<Expr>();
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return;
    seen.add(expr);
    if (enter(expr) !== false) eachChild(expr, visit);
  };
  roots.forEach(visit);
}

/** Whether there is such an expression among some and what they are made of. */
export function hasExpr(roots: readonly Expr[], test: (expr: Expr) => boolean): boolean {
  let isFound = false;
  walk(roots, (expr) => !(isFound ||= test(expr)));
  return isFound;
}

/** The loads among expressions and what they are made of. */
export const loadsIn = finder<LoadExpr>('load');

/** The reductions among expressions and what they are made of. */
export const reductionsIn = finder<ReduceExpr>('reduce');

/** Schedules and passes ask the same of the stores of a kernel many times. */
function finder<Found extends Expr>(kind: Found['kind']): (roots: readonly Expr[]) => readonly Found[] {
  const within = remembered((root: Expr): readonly Found[] => {
    const found: Found[] = [];
    walk([root], (expr) => {
      if (expr.kind === kind) found.push(expr as Found);
    });
    return found;
  });
  return (roots) => (roots.length === 1 ? within(roots[0]) : [...new Set(roots.flatMap(within))]);
}

/** Whether an operand is worked out by a loop for each of its elements. */
export const isReduced = (root: Expr): boolean => reductionsIn([root]).length > 0;
