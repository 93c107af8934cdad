import { childrenOf, FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf } from '../expressions/index-value.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { hasExpr, reductionsIn, walk } from '../expressions/walk.ts';
import { expressionsOf, mapStore, type LoopNest } from '../kernels/kernel.ts';

/**
 * A nest whose reductions and inner axes all go along the same elements of a row, with one axis for all of these loops, where the same
 * expression is one node. Null where they do not.
 */
export function withOneRowAxis(nest: LoopNest): LoopNest | null {
  const reductions = reductionsIn(nest.stores.flatMap(expressionsOf));
  const loops = [...reductions.map(({ axes }) => axes), ...(nest.innerAxes.length > 0 ? [nest.innerAxes] : [])];
  const [first] = loops;
  const isOne = loops.every((axes) => axes.length === 1 && extentOf(axes[0]) === extentOf(first[0]));
  if (reductions.length === 0 || !isOne) return null;
  const freeAxes = new FreeAxes();
  const outer = new Set(nest.axes);
  if (reductions.some((reduction) => [...freeAxes.of(reduction)].some((own) => !outer.has(own)))) return null;
  const row = nest.innerAxes.at(0) ?? first[0];
  const uniting = new Uniting(new Map(loops.map(([own]) => [own, row])));
  return { ...nest, stores: nest.stores.map((store) => mapStore(store, (expr) => uniting.unite(expr))) };
}

/**
 * What several loops over the elements of a row need, such as its elements, or the powers that a softmax adds up and then divides: the first loop
 * keeps it for the others. Of a nest with one axis for all of them.
 */
export function keptValues(nest: LoopNest): Expr[] {
  const roots = nest.stores.flatMap(expressionsOf);
  const reductions = reductionsIn(roots);
  const [row] = nest.innerAxes.length > 0 ? nest.innerAxes : reductions[0].axes;
  const freeAxes = new FreeAxes();
  const loopsOf = new Map<Expr, Set<number>>();
  const parents = new Map<Expr, Expr[]>();
  [...reductions.map(({ body }) => [body]), roots].forEach((bodies, loop) =>
    walk(bodies, (expr) => {
      if (!freeAxes.of(expr).has(row)) return false;
      loopsOf.set(expr, (loopsOf.get(expr) ?? new Set()).add(loop));
      for (const child of childrenOf(expr)) parents.set(child, [...(parents.get(child) ?? []), expr]);
      // How an element is found is worked out with it.
      return expr.kind !== 'load';
    }),
  );
  const isLoaded = (expr: Expr): boolean => hasExpr([expr], ({ kind }) => kind === 'load');
  return [...loopsOf].flatMap(([expr, loops]) => {
    const isPart = parents.get(expr)?.some((parent) => loopsOf.get(parent)?.size === loops.size) ?? false;
    return loops.size > 1 && !isPart && isLoaded(expr) ? [expr] : [];
  });
}

/** Gives axes others that stand for them, and makes one node of those that are the same. */
class Uniting {
  readonly #forms = new LinearForms();
  readonly #done = new Map<Expr, Expr>();
  readonly #known = new Map<string, Expr>();
  readonly #ids = new Map<unknown, number>();

  constructor(private readonly renamed: ReadonlyMap<AxisExpr, AxisExpr>) {}

  unite(expr: Expr): Expr {
    let result = this.#done.get(expr);
    if (result === undefined) {
      result = this.#one(expr);
      this.#done.set(expr, result);
    }
    return result;
  }

  #one(expr: Expr): Expr {
    if (expr.kind === 'axis') return this.renamed.get(expr) ?? expr;
    let made = new Rewriter((node) => (node === expr ? null : this.unite(node))).rewrite(expr);
    if (made.kind === 'reduce') made = { ...made, axes: made.axes.map((own) => this.renamed.get(own) ?? own) };
    const key = this.#keyOf(made);
    const known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, made);
    return known ?? made;
  }

  #keyOf(expr: Expr): string {
    if (expr.kind === 'param') return `param ${this.#id(expr)}`;
    if (expr.kind === 'const') return `const ${expr.type} ${Object.is(expr.value, -0) ? '-0' : String(expr.value)}`;
    const fn = 'fn' in expr ? expr.fn : '';
    const axes = expr.kind === 'reduce' ? expr.axes.map((own) => this.#id(own)) : [];
    if (expr.kind === 'load') {
      const { base, terms, rest } = this.#forms.of(expr.offset);
      const { storage, dtype } = expr.operand.tensor;
      const place = [...terms].map(([own, stride]) => `${this.#id(own)}*${stride}`).sort();
      const offset = rest === null ? `${base}+${place.join('+')}` : `@${this.#id(expr.offset)}`;
      return `load ${this.#id(storage)} ${dtype} ${offset}`;
    }
    const children = childrenOf(expr).map((child) => this.#id(child));
    return [expr.kind, expr.type, fn, axes.join(), children.join()].join(' ');
  }

  #id(of: unknown): number {
    const id = this.#ids.get(of) ?? this.#ids.size;
    this.#ids.set(of, id);
    return id;
  }
}
