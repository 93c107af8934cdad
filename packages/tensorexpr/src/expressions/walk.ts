import { childrenOf } from './expr-children.ts';
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
    if (enter(expr) !== false) childrenOf(expr).forEach(visit);
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
export function loadsIn(roots: readonly Expr[]): LoadExpr[] {
  const found: LoadExpr[] = [];
  walk(roots, (expr) => {
    if (expr.kind === 'load') found.push(expr);
  });
  return found;
}

/** The reductions among expressions and what they are made of. */
export function reductionsIn(roots: readonly Expr[]): ReduceExpr[] {
  const found: ReduceExpr[] = [];
  walk(roots, (expr) => {
    if (expr.kind === 'reduce') found.push(expr);
  });
  return found;
}

/** Whether an operand is worked out by a loop for each of its elements. */
export const isReduced = (root: Expr): boolean => hasExpr([root], ({ kind }) => kind === 'reduce');
