import { hadSymbols } from '@cresset/tensor';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import type { Operand } from '../expressions/operand.ts';
import { hasExpr } from '../expressions/walk.ts';
import { remembered } from '../remembered.ts';

/** Writes `value`, converted to the operand's dtype, at `offset` elements from the start of its storage. */
export interface Store {
  readonly operand: Operand;
  readonly offset: Expr;
  readonly value: Expr;
  /** A condition, `bool`: nothing is written where it does not hold. */
  readonly guard?: Expr;
  /** Joins the value with the one that is there, whole, whatever other threads do to it: several points may name one element,
   * in no order. The kernel must not load from this storage. Elements of int64 can only be summed up. */
  readonly combine?: 'sum' | 'prod' | 'max' | 'min';
}

/** The expressions of a store. */
export function expressionsOf({ offset, value, guard }: Store): Expr[] {
  return guard ? [offset, value, guard] : [offset, value];
}

/** All expressions of a kernel: those of its stores, and the sides of a contraction. */
export function expressionsIn(kernel: LoopNest | Recurrence | Omit<Contraction, 'k'>): Expr[] {
  const stored = kernel.stores.flatMap(expressionsOf);
  return kernel.kind === 'contraction' ? [...stored, kernel.left, kernel.right] : stored;
}

/** Whether some of a kernel's numbers are expressions of sizes: it is made ready again when these are others. */
export const isSymbolicKernel = (kernel: Kernel): boolean => hadSymbols() && holdsSymbols(kernel);

const holdsSymbols = remembered((kernel: Kernel) => {
  const isSymbol = (expr: Expr): boolean => expr.kind === 'param' && expr.sym !== undefined;
  const loops = (expr: Expr): boolean =>
    expr.kind === 'axis' ? hasExpr([expr.extent], isSymbol) : expr.kind === 'reduce' && expr.axes.some(loops);
  return hasExpr(expressionsIn(kernel), (expr) => isSymbol(expr) || loops(expr)) || axesOf(kernel).some(loops);
});

function axesOf(kernel: Kernel): AxisExpr[] {
  if (kernel.kind === 'contraction') return [...kernel.batch, kernel.m, kernel.n, kernel.k];
  const time = kernel.kind === 'recurrence' ? [kernel.time] : [];
  return [...time, ...kernel.axes, ...kernel.innerAxes];
}

/** A store with every expression replaced. */
export function mapStore(store: Store, change: (expr: Expr) => Expr): Store {
  const changed = { ...store, offset: change(store.offset), value: change(store.value) };
  return store.guard ? { ...changed, guard: change(store.guard) } : changed;
}

/**
 * Loops over `axes`, in any order or all at once. Stores that mention `innerAxes` are made once for each of their values
 * too, the others once for each point of `axes`.
 *
 * A reduction whose body mentions no inner axis of the nest but its own is worked out once for each point of `axes` and
 * shared: that is how softmax and layer norm are one kernel (`axes`: rows, `innerAxes`: columns). With no `innerAxes` and
 * no reduction it is a pointwise kernel.
 */
export interface LoopNest {
  readonly kind: 'nest';
  /** The operators it computes, for labels, profiles and the header of the shader: `aten::softmax`. */
  readonly label: string;
  readonly axes: readonly AxisExpr[];
  readonly innerAxes: readonly AxisExpr[];
  readonly stores: readonly Store[];
}

/**
 * `acc[b, m, n] = Σ_k left(b, m, k) · right(b, k, n)`, then the stores, whose values may use the accumulator and any axis
 * but `k`: matrix products, convolutions (the operands' expressions gather), attention scores, with what comes before and
 * after fused in. Accumulates in float32.
 */
export interface Contraction {
  readonly kind: 'contraction';
  readonly label: string;
  readonly batch: readonly AxisExpr[];
  readonly m: AxisExpr;
  readonly n: AxisExpr;
  readonly k: AxisExpr;
  /** Mentions batch, m and k. */
  readonly left: Expr;
  /** Mentions batch, k and n. */
  readonly right: Expr;
  readonly stores: readonly Store[];
}

/**
 * A nest whose steps are taken one after the other: for each value of `time` all points of `axes` and `innerAxes`, which may load what
 * earlier steps stored. Recurrent layers and scans are this.
 *
 * Points of `axes` have nothing to do with each other: none loads what another one stores. Within a step an element that is stored is loaded
 * at the same point or not at all.
 */
export interface Recurrence extends Omit<LoopNest, 'kind'> {
  readonly kind: 'recurrence';
  readonly time: AxisExpr;
}

export type Kernel = LoopNest | Contraction | Recurrence;
