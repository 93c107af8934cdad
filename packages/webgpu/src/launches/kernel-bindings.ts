import type { Storage } from '@cresset/tensor';
import { expressionsIn, loadsIn, type Kernel } from '@cresset/tensorexpr';

/** How many buffers a kernel binds. */
export function kernelBindings(kernel: Kernel): number {
  return new Set([...kernel.stores.map(({ operand }) => operand.tensor.storage), ...storagesRead(kernel)]).size;
}

/** The storages that a kernel loads from. */
export function storagesRead(kernel: Kernel): Set<Storage> {
  return new Set(loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor.storage));
}
