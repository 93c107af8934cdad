import {
  keepsGuards,
  peek,
  symBelow,
  symCompare,
  symEq,
  symGe,
  symLt,
  symMatches,
  symMul,
  type SymInt,
} from '@cresset/tensor';
import { axis, constant, param } from '../expressions/builders.ts';
import { AxisSplitting } from './axis-splitting.ts';
import { eachChild, FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, BinaryExpr, Expr, LoadExpr } from '../expressions/expr.ts';
import { symExtentOf, symPointsOf } from '../expressions/index-value.ts';
import {
  expressionsOf,
  mapStore,
  type Contraction,
  type Kernel,
  type LoopNest,
  type Recurrence,
  type Store,
} from './kernel.ts';
import { linearExpr, LinearForms, scale, sum, type LinearForm } from '../expressions/linear-form.ts';
import { reductionsIn } from '../expressions/walk.ts';
import type { RunningSoftmax } from './running-softmax.ts';
import { Rewriter } from '../expressions/substitute.ts';

/** A Contraction whose sum may run over several loops, the outermost first. */
export interface NormalContraction extends Omit<Contraction, 'k'> {
  readonly k: readonly AxisExpr[];
}

/** A kernel in the form that schedules and emitters take. */
export type NormalKernel = LoopNest | NormalContraction | Recurrence;

/** One of these, or attention where it was made out. */
export type NormalForm = NormalKernel | RunningSoftmax;

/**
 * Brings a kernel to a form in which kernels that do the same work for the same class of layouts are the same:
 *
 * - loops of one step go away, loops whose operands all lie one after the other are merged into one;
 * - loops are ordered by the strides of the first store, so that neighbouring threads write neighbouring elements;
 * - flattened indices that are divided again become loops of their own;
 * - comparisons of indices that come out one way at every point are decided (a convolution without padding);
 * - offsets become sums of products in loop order, with params for all strides but 0 and 1;
 * - the same element of the same operand is one node.
 *
 * Of a kernel with symbols its numbers are expressions where guards are kept, else those of now: it is made again then when symbols stand for others.
 */
export function normalise(kernel: Kernel | NormalContraction): NormalKernel;
export function normalise(kernel: Kernel | RunningSoftmax): NormalForm;
export function normalise(kernel: Kernel | NormalContraction | RunningSoftmax): NormalForm {
  return keepsGuards() ? normalForm(kernel) : peek(() => normalForm(kernel));
}

function normalForm(kernel: Kernel | NormalContraction | RunningSoftmax): NormalForm {
  switch (kernel.kind) {
    case 'nest':
      return normaliseNest(kernel);
    case 'recurrence':
      return normaliseRecurrence(kernel);
    case 'contraction':
      return normaliseContraction(kernel);
    case 'running-softmax':
      return normaliseRunningSoftmax(kernel);
  }
}

export function normaliseNest(nest: LoopNest): LoopNest {
  if (hasNoPoints(nest.axes)) return nest;
  const roots = rootsOf(nest.stores);
  const reductions = reductionsIn(roots);
  const splitting = new AxisSplitting(
    [...nest.axes, ...nest.innerAxes, ...reductions.flatMap(({ axes }) => axes)],
    roots,
  );
  const stores = nest.stores.map((store) => split(store, splitting));
  let axes = splitting.loops(nest.axes);
  let innerAxes = splitting.loops(nest.innerAxes);
  if (innerAxes.length > 0 && !sharesWork(stores, innerAxes)) {
    axes = [...axes, ...innerAxes];
    innerAxes = [];
  }
  const space = new IterationSpace([], stores);
  const outer = space.simplify(axes, stores[0]);
  const inner = space.simplify(
    innerAxes,
    stores.find((store) => space.mentions(store, innerAxes)),
  );
  return { ...nest, axes: outer, innerAxes: inner, stores: stores.map((store) => space.store(store)) };
}

/** Loops of a step are simplified among themselves: what is a step, and what is by itself, stays so. */
function normaliseRecurrence(kernel: Recurrence): Recurrence {
  if (hasNoPoints([...kernel.axes, kernel.time])) return kernel;
  const roots = rootsOf(kernel.stores);
  const reduced = reductionsIn(roots).flatMap(({ axes }) => axes);
  const splitting = new AxisSplitting([...kernel.axes, ...kernel.innerAxes, ...reduced], roots);
  const stores = kernel.stores.map((store) => split(store, splitting));
  const space = new IterationSpace([], stores);
  space.keep([kernel.time]);
  const axes = space.simplify(splitting.loops(kernel.axes), stores[0]);
  const innerAxes = space.simplify(splitting.loops(kernel.innerAxes), stores[0]);
  return { ...kernel, axes, innerAxes, stores: stores.map((store) => space.store(store)) };
}

/** Whether something is worked out once for all values of the inner axes, or stored outside them. */
function sharesWork(stores: readonly Store[], innerAxes: readonly AxisExpr[]): boolean {
  const freeAxes = new FreeAxes();
  const inside = (expr: Expr): boolean => innerAxes.some((axis) => freeAxes.of(expr).has(axis));
  if (stores.some((store) => innerAxes.some((axis) => !freeAxes.of(store.offset).has(axis) && !hasOnePoint(axis))))
    return true;
  return reductionsIn(rootsOf(stores)).some((reduction) => !inside(reduction));
}

function normaliseContraction(kernel: Contraction | NormalContraction): NormalContraction {
  const sum = [kernel.k].flat();
  if (hasNoPoints([...kernel.batch, kernel.m, kernel.n])) return { ...kernel, k: sum };
  const roots = [kernel.left, kernel.right, ...rootsOf(kernel.stores)];
  const splitting = new AxisSplitting([...sum, ...kernel.batch], roots);
  const left = splitting.rewrite(kernel.left);
  const right = splitting.rewrite(kernel.right);
  const stores = kernel.stores.map((store) => split(store, splitting));
  const space = new IterationSpace([left, right], stores);
  const batch = space.simplify(splitting.loops(kernel.batch));
  space.keep([kernel.m, kernel.n]);
  const k = space.simplify(splitting.loops(sum));
  return {
    ...kernel,
    batch,
    // What decides about the borders of an image goes outside, long and plain loops inside.
    k: space.innermostPlain(k),
    left: space.rewrite(left),
    right: space.rewrite(right),
    stores: stores.map((store) => space.store(store)),
  };
}

function normaliseRunningSoftmax(kernel: RunningSoftmax): RunningSoftmax {
  if (hasNoPoints([...kernel.batch, kernel.m, kernel.n])) return kernel;
  const sides = [kernel.left, kernel.right, kernel.score, kernel.values];
  const splitting = new AxisSplitting([...kernel.depth, ...kernel.batch], [...sides, ...rootsOf(kernel.stores)]);
  const [left, right, score, values] = sides.map((side) => splitting.rewrite(side));
  const stores = kernel.stores.map((store) => split(store, splitting));
  const space = new IterationSpace([left, right, score, values], stores);
  const batch = space.simplify(splitting.loops(kernel.batch));
  space.keep([kernel.m, kernel.k, kernel.n]);
  return {
    ...kernel,
    batch,
    depth: space.simplify(splitting.loops(kernel.depth)),
    left: space.rewrite(left),
    right: space.rewrite(right),
    score: space.rewrite(score),
    values: space.rewrite(values),
    stores: stores.map((store) => space.store(store)),
  };
}

const hasNoPoints = (axes: readonly AxisExpr[]): boolean => symEq(symPointsOf(axes), 0);
const hasOnePoint = (axis: AxisExpr): boolean => symEq(symExtentOf(axis), 1);

function rootsOf(stores: readonly Store[]): Expr[] {
  return stores.flatMap(expressionsOf);
}

function split(store: Store, splitting: AxisSplitting): Store {
  return mapStore(store, (expr) => splitting.rewrite(expr));
}

/** The loops of a kernel while they are dropped, reordered and merged, and the rewriting of its expressions to match. */
class IterationSpace {
  readonly #forms = new LinearForms();
  readonly #freeAxes = new FreeAxes();
  /** Axes whose value itself is used, not just offsets made of it: they keep their own loop. */
  readonly #pinned = new Set<AxisExpr>();
  readonly #offsets: LinearForm[] = [];
  /** Where an axis went: the loop it became the inner part of, or nothing for one that takes no steps. */
  readonly #placed = new Map<AxisExpr, AxisExpr | null>();
  readonly #order: AxisExpr[] = [];
  readonly #reduceLoops = new Map<string, readonly AxisExpr[]>();
  readonly #axisIds = new Map<AxisExpr, number>();
  readonly #loads = new Map<string, LoadExpr>();
  readonly #operandIds = new Map<unknown, number>();
  readonly #rewriter = new Rewriter((expr) => this.#replace(expr));

  /** @param roots expressions of the kernel beside its stores. */
  constructor(roots: readonly Expr[], stores: readonly Store[]) {
    const seen = new Set<Expr>();
    const offset = (expr: Expr): void => {
      const form = this.#forms.of(expr);
      this.#offsets.push(form);
      if (form.rest) visit(form.rest);
    };
    const owners = new Map<AxisExpr, string>();
    const visit = (expr: Expr): void => {
      if (seen.has(expr)) return;
      seen.add(expr);
      if (expr.kind === 'axis') this.#pinned.add(expr);
      if (expr.kind === 'load') {
        offset(expr.offset);
        return;
      }
      const decided = this.#decide(expr);
      if (decided) {
        visit(decided);
        return;
      }
      if (expr.kind === 'reduce') {
        // Two reductions over different lists with an axis in common could want it merged in different ways.
        const list = this.#listKey(expr.axes);
        for (const own of expr.axes) {
          if ((owners.get(own) ?? list) !== list) this.#pinned.add(own);
          owners.set(own, list);
        }
        visit(expr.body);
        return;
      }
      eachChild(expr, visit);
    };
    for (const root of roots) visit(root);
    for (const store of stores) {
      offset(store.offset);
      visit(store.value);
      if (store.guard) visit(store.guard);
    }
  }

  mentions(store: Store, axes: readonly AxisExpr[]): boolean {
    return axes.some((axis) => this.#freeAxes.of(store.offset).has(axis));
  }

  /**
   * The loops in an order of their own, where it does not matter: those whose value is used outside, then by length; inside all those of some length
   * that less is loaded by than by others, as the columns of a group are that share a scale.
   */
  innermostPlain(loops: readonly AxisExpr[]): AxisExpr[] {
    const pinned = (loop: AxisExpr): number => (this.#pinned.has(loop) ? 1 : 0);
    const counts = new Map(loops.map((loop) => [loop, this.#countLoadedBy(loop)]));
    const most = Math.max(...counts.values());
    const shares = (loop: AxisExpr): number => (counts.get(loop)! < most && symGe(symExtentOf(loop), 16) ? 1 : 0);
    return [...loops].sort(
      (a, b) => pinned(b) - pinned(a) || shares(a) - shares(b) || symCompare(symExtentOf(a), symExtentOf(b)),
    );
  }

  /** Of how many elements that are loaded or stored a loop decides which. */
  #countLoadedBy(loop: AxisExpr): number {
    const isOf = (own: AxisExpr): boolean => this.#placed.get(own) === loop;
    return this.#offsets.filter(
      ({ terms, rest }) => [...terms.keys()].some(isOf) || (rest && [...this.#freeAxes.of(rest)].some(isOf)),
    ).length;
  }

  /** Axes that stay as they are. */
  keep(axes: readonly AxisExpr[]): void {
    for (const kept of axes) {
      this.#placed.set(kept, kept);
      this.#order.push(kept);
    }
  }

  /** The loops that `axes` become. With `first`, they are put in the order of its strides before neighbours are merged. */
  simplify(axes: readonly AxisExpr[], first?: Store): AxisExpr[] {
    let left: AxisExpr[] = [];
    for (const candidate of axes) {
      if (hasOnePoint(candidate)) this.#placed.set(candidate, null);
      else left.push(candidate);
    }
    const target = first && this.#forms.of(first.offset);
    if (target && !target.rest) {
      const stride = (candidate: AxisExpr): SymInt => {
        const own = target.terms.get(candidate) ?? 0;
        return symLt(own, 0) ? symMul(own, -1) : own;
      };
      left = left.sort((a, b) => symCompare(stride(b), stride(a)));
    }
    const loops: AxisExpr[] = [];
    for (let at = 0; at < left.length;) {
      const group = [left[at++]];
      while (at < left.length && this.#canMerge(group.at(-1)!, left[at])) group.push(left[at++]);
      const loop = group.length === 1 ? group[0] : axis(group[0].name, param('i32', symPointsOf(group)));
      for (const member of group) this.#placed.set(member, member === group.at(-1) ? loop : null);
      loops.push(loop);
      this.#order.push(loop);
    }
    return loops;
  }

  #canMerge(outer: AxisExpr, inner: AxisExpr): boolean {
    if (this.#pinned.has(outer) || this.#pinned.has(inner)) return false;
    const extent = symExtentOf(inner);
    return this.#offsets.every(({ terms }) => symMatches(terms.get(outer) ?? 0, symMul(terms.get(inner) ?? 0, extent)));
  }

  store(store: Store): Store {
    return { ...mapStore(store, (expr) => this.rewrite(expr)), offset: this.#offset(store.offset) };
  }

  rewrite(expr: Expr): Expr {
    return this.#rewriter.rewrite(expr);
  }

  #offset(expr: Expr): Expr {
    return linearExpr(this.#place(this.#forms.of(expr)), this.#order);
  }

  /** A form over the old axes as one over the loops they became. */
  #place(form: LinearForm): LinearForm {
    const terms = new Map<AxisExpr, SymInt>();
    for (const [old, coefficient] of form.terms) {
      const loop = this.#placed.get(old);
      if (loop) terms.set(loop, coefficient);
    }
    return { base: form.base, terms, rest: form.rest && this.rewrite(form.rest) };
  }

  #replace(expr: Expr): Expr | null {
    const decided = this.#decide(expr);
    if (decided) return this.rewrite(decided);
    switch (expr.kind) {
      case 'axis': {
        const loop = this.#placed.get(expr);
        return loop === undefined ? null : (loop ?? constant('i32', 0));
      }
      case 'load':
        return this.#load(expr);
      case 'reduce':
        return { ...expr, axes: this.#loopsOf(expr.axes), body: this.rewrite(expr.body) };
      default:
        return null;
    }
  }

  #listKey(axes: readonly AxisExpr[]): string {
    return axes.map((axis) => this.#idOf(axis)).join();
  }

  #idOf(axis: AxisExpr): number {
    let id = this.#axisIds.get(axis);
    if (id === undefined) {
      id = this.#axisIds.size;
      this.#axisIds.set(axis, id);
    }
    return id;
  }

  #loopsOf(axes: readonly AxisExpr[]): readonly AxisExpr[] {
    const key = this.#listKey(axes);
    let loops = this.#reduceLoops.get(key);
    if (!loops) {
      loops = this.simplify(axes);
      this.#reduceLoops.set(key, loops);
    }
    return loops;
  }

  #load(expr: LoadExpr): LoadExpr {
    const form = this.#place(this.#forms.of(expr.offset));
    const offset = linearExpr(form, this.#order);
    const { storage } = expr.operand.tensor;
    let operand = this.#operandIds.get(storage);
    if (operand === undefined) {
      operand = this.#operandIds.size;
      this.#operandIds.set(storage, operand);
    }
    if (form.rest) return { ...expr, offset };
    const terms = [...form.terms].map(([axis, coefficient]) => `${this.#idOf(axis)}*${coefficient}`).sort();
    const key = `${operand}[${form.base}+${terms.join('+')}]`;
    const known = this.#loads.get(key);
    if (known) return known;
    const load = { ...expr, offset };
    this.#loads.set(key, load);
    return load;
  }

  /** What a comparison, or logic over decided ones, comes to when it is the same at every point. */
  #decide(expr: Expr): Expr | null {
    if (expr.kind === 'select') {
      const condition = this.#truth(expr.condition);
      return condition === null ? null : condition ? expr.x : expr.y;
    }
    if (expr.type !== 'bool' || expr.kind !== 'binary') return null;
    if (expr.fn === 'and' || expr.fn === 'or') {
      const absorbing = expr.fn === 'or';
      const x = this.#truth(expr.x);
      const y = this.#truth(expr.y);
      if (x === absorbing || y === absorbing) return constant('bool', absorbing);
      if (x !== null) return expr.y;
      return y !== null ? expr.x : null;
    }
    const truth = this.#truth(expr);
    return truth === null ? null : constant('bool', truth);
  }

  #truth(expr: Expr): boolean | null {
    if (expr.type !== 'bool') return null;
    if (expr.kind === 'const') return Boolean(expr.value);
    if (expr.kind !== 'binary') return null;
    if (expr.fn === 'and' || expr.fn === 'or') {
      const absorbing = expr.fn === 'or';
      const x = this.#truth(expr.x);
      const y = this.#truth(expr.y);
      if (x === absorbing || y === absorbing) return absorbing;
      return x !== null && y !== null ? !absorbing : null;
    }
    return expr.x.type === 'i32' ? this.#compare(expr) : null;
  }

  #compare(expr: BinaryExpr): boolean | null {
    const difference = sum(this.#forms.of(expr.x), scale(this.#forms.of(expr.y), -1));
    const range = this.#forms.range(difference);
    if (!range) return null;
    const { low, high } = range;
    const decide = (always: boolean, never: boolean): boolean | null => always || (never ? false : null);
    const isZero = (): boolean => symMatches(low, 0) && symMatches(high, 0);
    const isNotZero = (): boolean => symBelow(0, low) || symBelow(high, 0);
    switch (expr.fn) {
      case 'lt':
        return decide(symBelow(high, 0), symBelow(-1, low));
      case 'le':
        return decide(symBelow(high, 1), symBelow(0, low));
      case 'gt':
        return decide(symBelow(0, low), symBelow(high, 1));
      case 'ge':
        return decide(symBelow(-1, low), symBelow(high, 0));
      case 'eq':
        return decide(isZero(), isNotZero());
      case 'ne':
        return decide(isNotZero(), isZero());
      default:
        return null;
    }
  }
}
