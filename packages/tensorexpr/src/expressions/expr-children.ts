import type { AxisExpr, Expr } from './expr.ts';

/** Calls `visit` with the expressions a node is made of, in evaluation order; the extents of a reduction's axes come before its body. */
export function eachChild(expr: Expr, visit: (child: Expr) => void): void {
  switch (expr.kind) {
    case 'load':
      visit(expr.offset);
      break;
    case 'unary':
    case 'cast':
      visit(expr.x);
      break;
    case 'select':
    case 'binary':
      if (expr.kind === 'select') visit(expr.condition);
      visit(expr.x);
      visit(expr.y);
      break;
    case 'reduce':
      for (const { extent } of expr.axes) visit(extent);
      visit(expr.body);
  }
}

/** Those as a list. */
export function childrenOf(expr: Expr): readonly Expr[] {
  const children: Expr[] = [];
  eachChild(expr, (child) => children.push(child));
  return children;
}

const noAxes: ReadonlySet<AxisExpr> = new Set();

/** Finds which loop axes expressions depend on; remembers every node it has seen. */
export class FreeAxes {
  readonly #known = new Map<Expr, ReadonlySet<AxisExpr>>();

  /** Says that an expression changes with these axes, though they do not occur in it. */
  declare(expr: Expr, axes: readonly AxisExpr[]): void {
    this.#known.set(expr, new Set(axes));
  }

  of(expr: Expr): ReadonlySet<AxisExpr> {
    const known = this.#known.get(expr);
    if (known) return known;
    // Half of all expressions.
    if (expr.kind === 'const' || expr.kind === 'param' || expr.kind === 'accumulator') return noAxes;
    const found = this.#find(expr);
    this.#known.set(expr, found);
    return found;
  }

  #find(expr: Expr): ReadonlySet<AxisExpr> {
    if (expr.kind === 'axis') return new Set([expr]);
    let all: ReadonlySet<AxisExpr> = noAxes;
    eachChild(expr, (child) => (all = union(all, this.of(child))));
    if (expr.kind !== 'reduce') return all;
    const bound = new Set(expr.axes);
    return new Set([...all].filter((axis) => !bound.has(axis)));
  }
}

function union(a: ReadonlySet<AxisExpr>, b: ReadonlySet<AxisExpr>): ReadonlySet<AxisExpr> {
  if (a.size === 0) return b;
  if (b.size === 0 || a === b) return a;
  return new Set([...a, ...b]);
}
