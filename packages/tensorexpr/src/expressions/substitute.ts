import type { AxisExpr, Expr } from './expr.ts';

/**
 * Rewrites expressions bottom up. `replace` is asked about each node before its children are visited and answers with
 * what stands in its place, or null to go on inside. Shared nodes stay shared, and what does not change keeps its identity.
 */
export class Rewriter {
  readonly #done = new Map<Expr, Expr>();
  readonly #replace: (expr: Expr, rewriter: Rewriter) => Expr | null;

  constructor(replace: (expr: Expr, rewriter: Rewriter) => Expr | null) {
    this.#replace = replace;
  }

  rewrite(expr: Expr): Expr {
    let result = this.#done.get(expr);
    if (result === undefined) {
      result = this.#replace(expr, this) ?? this.#inside(expr);
      this.#done.set(expr, result);
    }
    return result;
  }

  axis(axis: AxisExpr): AxisExpr {
    const result = this.rewrite(axis);
    return result.kind === 'axis' ? result : axis;
  }

  #inside(expr: Expr): Expr {
    switch (expr.kind) {
      case 'const':
      case 'param':
      case 'accumulator':
      case 'axis':
        return expr;
      case 'load': {
        const offset = this.rewrite(expr.offset);
        return offset === expr.offset ? expr : { ...expr, offset };
      }
      case 'unary':
      case 'cast': {
        const x = this.rewrite(expr.x);
        return x === expr.x ? expr : { ...expr, x };
      }
      case 'binary': {
        const x = this.rewrite(expr.x);
        const y = this.rewrite(expr.y);
        return x === expr.x && y === expr.y ? expr : { ...expr, x, y };
      }
      case 'select': {
        const condition = this.rewrite(expr.condition);
        const x = this.rewrite(expr.x);
        const y = this.rewrite(expr.y);
        return condition === expr.condition && x === expr.x && y === expr.y ? expr : { ...expr, condition, x, y };
      }
      case 'reduce': {
        const body = this.rewrite(expr.body);
        return body === expr.body ? expr : { ...expr, body };
      }
    }
  }
}

/** Replaces whole nodes by others wherever they occur; an axis only where it is free, not where a reduction loops over it. */
export function substitute(expr: Expr, replacements: ReadonlyMap<Expr, Expr>): Expr {
  return new Rewriter((node) => {
    const found = replacements.get(node);
    if (found) return found;
    if (node.kind !== 'reduce' || !node.axes.some((axis) => replacements.has(axis))) return null;
    const free = new Map([...replacements].filter(([from]) => !node.axes.includes(from as AxisExpr)));
    return free.size === 0 ? node : { ...node, body: substitute(node.body, free) };
  }).rewrite(expr);
}
