import { symMatches } from '@cresset/tensor';
import { axis, binary, constant, param, select } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { symExtentOf } from '../expressions/index-value.ts';
import { mapStore, type Contraction } from '../kernels/kernel.ts';
import { isSameExpr } from '../expressions/same-expr.ts';
import { substitute } from '../expressions/substitute.ts';

/**
 * Products of one left side with several right sides as one kernel: a loop over the right sides is its outermost. Null where they are
 * not equally large, or the left sides are not the same.
 */
export function joinContractions(contractions: readonly Contraction[]): Contraction | null {
  const [first, ...others] = contractions;
  const renamed = others.map((other) => withAxesOf(first, other));
  if (!renamed.every((other) => other !== null && isSameExpr(first.left, other.left))) return null;
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
  if (own.length !== other.length || !own.every((each, at) => symMatches(symExtentOf(each), symExtentOf(other[at]))))
    return null;
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
