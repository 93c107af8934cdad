import { childrenOf, reductionsIn, type Expr, type ReduceExpr } from '@cresset/tensorexpr';

/** Finds reductions that go over the same axes and need nothing of each other: one loop works them all out. */
export class ReductionGroups {
  readonly #known: ReduceExpr[] = [];
  readonly #within = new Map<Expr, ReadonlySet<ReduceExpr>>();

  announce(roots: readonly Expr[]): void {
    this.#known.push(...reductionsIn(roots));
  }

  /** Those beside `first` that `fits` wants in its loop. */
  besides(first: ReduceExpr, fits: (other: ReduceExpr) => boolean): ReduceExpr[] {
    const group = [first];
    for (const other of this.#known) {
      if (group.includes(other) || !areSameAxes(first, other)) continue;
      const isApart = group.every(
        (each) => !this.#reductionsOf(each).has(other) && !this.#reductionsOf(other).has(each),
      );
      if (isApart && fits(other)) group.push(other);
    }
    return group.slice(1);
  }

  /** The reductions that one is made of. */
  #reductionsOf(expr: Expr): ReadonlySet<ReduceExpr> {
    const known = this.#within.get(expr);
    if (known) return known;
    const found = new Set<ReduceExpr>();
    for (const child of childrenOf(expr)) {
      if (child.kind === 'reduce') found.add(child);
      for (const each of this.#reductionsOf(child)) found.add(each);
    }
    this.#within.set(expr, found);
    return found;
  }
}

function areSameAxes(a: ReduceExpr, b: ReduceExpr): boolean {
  return a.axes.length === b.axes.length && a.axes.every((axis, at) => axis === b.axes[at]);
}
