import { axis, binary, constant, param, select } from './builders.ts';
import { childrenOf } from './expr-children.ts';
import type { AxisExpr, Expr } from './expr.ts';
import { extentOf } from './index-value.ts';
import { mapStore, type Contraction } from './kernel.ts';
import { substitute } from './substitute.ts';

/**
 * Products of one left side with several right sides as one kernel: a loop over the right sides is its outermost. Null where they are
 * not equally large, or the left sides are not the same.
 */
export function joinContractions(contractions: readonly Contraction[]): Contraction | null {
  const [first, ...others] = contractions;
  const renamed = others.map((other) => withAxesOf(first, other));
  if (!renamed.every((other) => other !== null && isSame(first.left, other.left))) return null;
  const all = [first, ...(renamed as Contraction[])];
  const which = axis('which', param('i32', all.length));
  const isAt = (at: number): Expr => binary('eq', which, constant('i32', at));
  return {
    ...first,
    label: [...new Set(all.map(({ label }) => label))].join(' and '),
    batch: [which, ...first.batch],
    right: all
      .slice(0, -1)
      .reduceRight((otherwise, { right }, at) => select(isAt(at), right, otherwise), all.at(-1)!.right),
    stores: all.flatMap(({ stores }, at) =>
      stores.map((store) => ({ ...store, guard: store.guard ? binary('and', isAt(at), store.guard) : isAt(at) })),
    ),
  };
}

/** A contraction over the axes of another; null where one of them has another extent. */
function withAxesOf(model: Contraction, { batch, m, n, k, ...rest }: Contraction): Contraction | null {
  const [own, other] = [model, { batch, m, n, k }].map((each) => [each.m, each.n, each.k, ...each.batch]);
  if (own.length !== other.length || own.some((each, at) => extentOf(each) !== extentOf(other[at]))) return null;
  const axes = new Map<Expr, Expr>(other.map((each, at) => [each, own[at]]));
  const rename = (expr: Expr): Expr => substitute(expr, axes);
  return {
    ...model,
    label: rest.label,
    left: rename(rest.left),
    right: rename(rest.right),
    stores: rest.stores.map((store) => mapStore(store, rename)),
  };
}

/** Whether two expressions have the same value wherever their axes have. */
function isSame(a: Expr, b: Expr, bound: ReadonlyMap<AxisExpr, AxisExpr> = new Map()): boolean {
  if (a === b && bound.size === 0) return true;
  if (a.kind !== b.kind || a.type !== b.type) return false;
  switch (a.kind) {
    case 'const':
      return Object.is(a.value, (b as typeof a).value);
    case 'param':
      return a.open === (b as typeof a).open && (!!a.open || Object.is(a.value, (b as typeof a).value));
    case 'axis':
      return (bound.get(a) ?? a) === b;
    case 'load': {
      const { tensor, dtype } = (b as typeof a).operand;
      if (a.operand.tensor.storage !== tensor.storage || a.operand.dtype !== dtype) return false;
      break;
    }
    case 'unary':
    case 'binary':
      if (a.fn !== (b as typeof a).fn) return false;
      break;
    case 'reduce': {
      const other = b as typeof a;
      if (a.fn !== other.fn || a.axes.length !== other.axes.length) return false;
      bound = new Map([...bound, ...a.axes.map((each, at) => [each, other.axes[at]] as const)]);
      break;
    }
  }
  const [mine, others] = [childrenOf(a), childrenOf(b)];
  return mine.length === others.length && mine.every((child, at) => isSame(child, others[at], bound));
}
