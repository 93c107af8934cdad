import type { Storage } from '@cresset/tensor';
import { bindingsFor, expressionsIn, loadsIn, type DeviceCapabilities, type Kernel } from '@cresset/tensorexpr';

/** How many bindings a kernel has. */
export function kernelBindings(kernel: Kernel, capabilities: DeviceCapabilities): number {
  const stored = kernel.stores.map(({ operand }) => operand.tensor.storage);
  return bindingsFor(new Set([...stored, ...storagesRead(kernel)]), capabilities);
}

/** The storages that a kernel loads from. */
export function storagesRead(kernel: Kernel): Set<Storage> {
  return new Set(loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor.storage));
}
