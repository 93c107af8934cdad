import {
  Dict,
  Future,
  List,
  quantizerTensors,
  ScriptObject,
  Tensor,
  Tuple,
  type IValue,
  type Storage,
} from '@cresset/tensor';

/**
 * Visits the storages of all tensors reachable from `values` through containers, objects, futures, gradients and quantisers: one as
 * often as it is met.
 *
 * @returns how many values it looked at
 */
export function forEachStorage(values: readonly IValue[], visit: (storage: Storage) => void): number {
  let seen: Set<object> | null = null;
  const pending: IValue[] = [...values];
  let looks = 0;
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    looks++;
    if (value instanceof Tensor) {
      visit(value.storage);
      // Most hold nothing else, and are quicker looked at again than looked up.
      if (!value.grad && !value.quantizer) continue;
    }
    seen ??= new Set();
    if (seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Tensor) {
      if (value.grad) pending.push(value.grad);
      if (value.quantizer) pending.push(...quantizerTensors(value.quantizer));
    } else if (value instanceof List || value instanceof Tuple) {
      for (const item of value.items) if (typeof item === 'object') pending.push(item);
    } else if (value instanceof Dict) {
      for (const [key, item] of value.entries) pending.push(key, item);
    } else if (value instanceof ScriptObject) {
      for (const slot of value.slots) if (typeof slot === 'object') pending.push(slot);
    } else if (value instanceof Future) {
      pending.push(value.result ?? null);
    }
  }
  return looks;
}
