import { binary } from '../expressions/builders.ts';
import type { Expr, LoadExpr } from '../expressions/expr.ts';
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
export const elsewhere = (kernel: Kernel, placeOf: (operand: Operand) => Elsewhere | null): Kernel =>
  relocate(kernel, (operand, offset) => {
    const place = placeOf(operand);
    if (!place) return null;
    return { operand: place.operand, offset: place.base ? binary('add', place.base, offset) : offset };
  });

/** A kernel that loads and stores elements at other places. @param placeOf null for one that stays where it is */
export function relocate(
  kernel: Kernel,
  placeOf: (operand: Operand, offset: Expr) => Pick<LoadExpr, 'operand' | 'offset'> | null,
): Kernel {
  const rewriter = new Rewriter((expr, self) => {
    const place = expr.kind === 'load' ? placeOf(expr.operand, self.rewrite(expr.offset)) : null;
    return place && ({ ...expr, ...place } as Expr);
  });
  const rewrite = (expr: Expr): Expr => rewriter.rewrite(expr);
  const stores = kernel.stores.map((each) => {
    const store = mapStore(each, rewrite);
    return { ...store, ...placeOf(store.operand, store.offset) };
  });
  if (kernel.kind !== 'contraction') return { ...kernel, stores };
  return { ...kernel, left: rewrite(kernel.left), right: rewrite(kernel.right), stores };
}
