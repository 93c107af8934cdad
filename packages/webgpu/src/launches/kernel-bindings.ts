import type { Storage } from '@cresset/tensor';
import { bindingsFor, expressionsIn, loadsIn, type DeviceCapabilities, type Kernel } from '@cresset/tensorexpr';

/** Whether all that a kernel reads and stores to can be bound at once. */
export function canBind(kernel: Kernel, capabilities: DeviceCapabilities): boolean {
  const stored = kernel.stores.map(({ operand }) => operand.tensor.storage);
  return bindingsFor(new Set([...stored, ...storagesRead(kernel)]), capabilities) <= capabilities.maxStorageBuffers;
}

/** The storages that a kernel loads from. */
export function storagesRead(kernel: Kernel): Set<Storage> {
  return new Set(loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor.storage));
}
