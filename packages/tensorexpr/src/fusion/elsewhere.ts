import { binary } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import type { Operand } from '../expressions/operand.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { mapStore, type Kernel } from '../kernels/kernel.ts';

/** Where elements of an operand lie instead. */
export interface Elsewhere {
  readonly operand: Operand;
  /** Elements before its own; null where there are none. */
  readonly base: Expr | null;
}

/** A kernel that has elements of some operands in others. @param placeOf null for one that stays where it is */
export function elsewhere(kernel: Kernel, placeOf: (operand: Operand) => Elsewhere | null): Kernel {
  const after = (base: Expr | null, offset: Expr): Expr => (base ? binary('add', base, offset) : offset);
  const rewriter = new Rewriter((expr, self) => {
    const place = expr.kind === 'load' ? placeOf(expr.operand) : null;
    if (!place || expr.kind !== 'load') return null;
    return { ...expr, operand: place.operand, offset: after(place.base, self.rewrite(expr.offset)) };
  });
  const rewrite = (expr: Expr): Expr => rewriter.rewrite(expr);
  const stores = kernel.stores.map((each) => {
    const store = mapStore(each, rewrite);
    const place = placeOf(store.operand);
    return place ? { ...store, operand: place.operand, offset: after(place.base, store.offset) } : store;
  });
  if (kernel.kind !== 'contraction') return { ...kernel, stores };
  return { ...kernel, left: rewrite(kernel.left), right: rewrite(kernel.right), stores };
}
