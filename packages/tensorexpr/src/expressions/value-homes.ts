import { childrenOf, eachChild, FreeAxes } from './expr-children.ts';
import type { AxisExpr, Expr, ReduceExpr } from './expr.ts';
import { expressionsOf, type Recurrence } from '../kernels/kernel.ts';

/** A block of code in which values are worked out. */
interface Block<Self> {
  readonly parent: Self | null;
  /** Axes that have a value from here on. */
  readonly axes: ReadonlySet<AxisExpr>;
  /** A condition, not a loop: what is used once in it needs no working out before it. */
  readonly isGuard: boolean;
}

/** Where values of expressions are worked out: in the outermost block in which everything they depend on is known. */
export class ValueHomes {
  readonly freeAxes = new FreeAxes();
  readonly #uses = new Map<Expr, number>();
  readonly #reductions: ReduceExpr[] = [];
  /** Those whose loops are being written. */
  #begun: readonly ReduceExpr[] = [];
  readonly #within = new Map<Expr, ReadonlySet<ReduceExpr>>();

  /** Tells of everything that will be written, so that it is known what is used more than once. */
  announce(roots: readonly Expr[]): void {
    for (const root of roots) {
      const uses = this.#uses.get(root) ?? 0;
      this.#uses.set(root, uses + 1);
      if (uses > 0) continue;
      if (root.kind === 'reduce') this.#reductions.push(root);
      this.announce(childrenOf(root));
    }
  }

  /** Tells, before anything is announced, that elements which a recurrence stores are others in each of its steps. */
  changeOverTime({ time, stores }: Recurrence): void {
    const stored = new Set(stores.map(({ operand }) => operand.tensor.storage));
    const seen = new Set<Expr>();
    const visit = (expr: Expr): void => {
      if (seen.has(expr)) return;
      seen.add(expr);
      eachChild(expr, visit);
      if (expr.kind === 'load' && stored.has(expr.operand.tensor.storage))
        this.freeAxes.declare(expr, [...this.freeAxes.of(expr.offset), time]);
    };
    stores.flatMap(expressionsOf).forEach(visit);
  }

  isShared(expr: Expr): boolean {
    return (this.#uses.get(expr) ?? 0) >= 2;
  }

  /** The block for a value that is asked for in `block`. */
  homeOf<Self extends Block<Self>>(expr: Expr, block: Self): Self {
    if (block.isGuard && !this.isShared(expr)) return block;
    const free = this.freeAxes.of(expr);
    let home = block;
    while (home.parent && !hasOneOf(home.axes, free)) home = home.parent;
    return home;
  }

  /**
   * Has `write` write a loop that works out a reduction, and beside it all others over the same axes that belong into the same block and need
   * nothing of each other: it is given `first`, then those.
   */
  together<Self extends Block<Self>, Result>(
    first: ReduceExpr,
    block: Self,
    fits: (other: ReduceExpr) => boolean,
    write: (group: readonly ReduceExpr[]) => Result,
  ): Result {
    const group = [first];
    for (const other of this.#reductions) {
      if (group.includes(other) || !areSameAxes(first, other) || !fits(other)) continue;
      if (this.homeOf(other, block) !== block || !this.#isKnown(other, block)) continue;
      if (group.every((each) => !this.#needs(each, other) && !this.#needs(other, each)) && !this.#waits(other))
        group.push(other);
    }
    const outer = this.#begun;
    this.#begun = [...outer, ...group];
    const result = write(group);
    this.#begun = outer;
    return result;
  }

  #needs(expr: Expr, reduction: ReduceExpr): boolean {
    return this.#reductionsOf(expr).has(reduction);
  }

  /** Whether a reduction comes with a loop that is being written, or after it: what that loop needs cannot come beside it. */
  #waits(reduction: ReduceExpr): boolean {
    return this.#begun.some((each) => each === reduction || this.#needs(reduction, each));
  }

  /** Whether all that an expression changes with has a value in a block. */
  #isKnown<Self extends Block<Self>>(expr: Expr, block: Self): boolean {
    const missing = new Set(this.freeAxes.of(expr));
    for (let each: Self | null = block; each; each = each.parent) each.axes.forEach((axis) => missing.delete(axis));
    return missing.size === 0;
  }

  /** The reductions that an expression is made of. */
  #reductionsOf(expr: Expr): ReadonlySet<ReduceExpr> {
    const known = this.#within.get(expr);
    if (known) return known;
    const found = new Set<ReduceExpr>();
    eachChild(expr, (child) => {
      if (child.kind === 'reduce') found.add(child);
      for (const each of this.#reductionsOf(child)) found.add(each);
    });
    this.#within.set(expr, found);
    return found;
  }
}

function hasOneOf(axes: ReadonlySet<AxisExpr>, wanted: ReadonlySet<AxisExpr>): boolean {
  for (const axis of axes) if (wanted.has(axis)) return true;
  return false;
}

function areSameAxes(a: ReduceExpr, b: ReduceExpr): boolean {
  return a.axes.length === b.axes.length && a.axes.every((axis, at) => axis === b.axes[at]);
}
