import type { Storage } from '@cresset/tensor';
import { childrenOf, expressionsOf, type Expr, type Kernel } from '@cresset/tensorexpr';

/** How many buffers a kernel binds. */
export function kernelBindings(kernel: Kernel): number {
  return new Set([...kernel.stores.map(({ operand }) => operand.tensor.storage), ...storagesRead(kernel)]).size;
}

/** The storages that a kernel loads from. */
export function storagesRead(kernel: Kernel): Set<Storage> {
  const seen = new Set<Expr>();
  const found = new Set<Storage>();
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return;
    seen.add(expr);
    if (expr.kind === 'load') found.add(expr.operand.tensor.storage);
    for (const child of childrenOf(expr)) visit(child);
  };
  for (const expr of kernel.stores.flatMap(expressionsOf)) visit(expr);
  if (kernel.kind === 'contraction') for (const expr of [kernel.left, kernel.right]) visit(expr);
  return found;
}
