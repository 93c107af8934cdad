import { childrenOf } from './expr-children.ts';
import type { Expr, ReduceExpr } from './expr.ts';

/** The reductions among the expressions below `roots`. */
export function reductionsIn(roots: readonly Expr[]): ReduceExpr[] {
  const seen = new Set<Expr>();
  const found: ReduceExpr[] = [];
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return;
    seen.add(expr);
    if (expr.kind === 'reduce') found.push(expr);
    for (const child of childrenOf(expr)) visit(child);
  };
  for (const root of roots) visit(root);
  return found;
}
