import { Dict, List, ScriptObject, Tensor, Tuple, type IValue, type Storage } from '@cresset/tensor';

interface Entry {
  /** Registers that hold a tensor over this storage, counted with multiplicity. */
  holders: number;
  /** Reachable from a mutable container: only the sweep at the end of the run can tell whether it still is. */
  pinned: boolean;
}

/**
 * Frees the device memory of what a run makes at its last use.
 *
 * PyTorch counts references to a storage; here the registers of the interpreter are counted, which is where values of a
 * running program live. A tensor that goes into something that can change later (a list, a dict, an attribute) is pinned
 * and left to `sweep`. Storages that the run did not make (weights, inputs) are not in the ledger and never freed.
 */
export class StorageLedger {
  readonly #entries = new Map<Storage, Entry>();

  /** @param kept storages that runs made and that only attributes of the module hold; shared by all runs of a context */
  constructor(private readonly kept: WeakSet<Storage> = new WeakSet()) {}

  /** Storages made in this run that are still held. */
  get size(): number {
    return this.#entries.size;
  }

  /** Takes charge of a storage that an operator has just made. */
  own(storage: Storage): void {
    if (!this.#entries.has(storage)) this.#entries.set(storage, { holders: 0, pinned: false });
  }

  /** A register holds `value` from now on. `counted` says that a list in it never changes and is counted through. */
  retain(value: IValue, counted: boolean): void {
    if (value instanceof Tensor) {
      const entry = this.#entries.get(value.storage);
      if (entry) entry.holders++;
    } else if (value instanceof Tuple || (counted && value instanceof List)) {
      for (const item of value.items) this.retain(item, counted);
    }
  }

  /** A register gave `value` up, which it was told to retain before with the same `counted`. */
  release(value: IValue, counted: boolean): void {
    if (value instanceof Tensor) {
      const entry = this.#entries.get(value.storage);
      if (entry && --entry.holders === 0 && !entry.pinned) {
        this.#entries.delete(value.storage);
        value.storage.dispose();
      }
    } else if (value instanceof Tuple || (counted && value instanceof List)) {
      for (const item of value.items) this.release(item, counted);
    }
  }

  /** Leaves all that is reachable from `value` to the sweep. */
  pin(value: IValue): void {
    forEachStorage([value], (storage) => {
      const entry = this.#entries.get(storage);
      if (entry) entry.pinned = true;
    });
  }

  /**
   * An attribute is about to lose `value`: what an earlier run put there, and never handed out, is this run's to free where
   * nothing else holds it in the end.
   */
  takeBack(value: IValue): void {
    forEachStorage([value], (storage) => {
      if (this.kept.has(storage) && !this.#entries.has(storage))
        this.#entries.set(storage, { holders: 0, pinned: true });
    });
  }

  /**
   * Ends the run: frees everything it made that can be reached neither from `outside` (results and arguments: the caller's now) nor
   * from `attributes` of the module, where later runs may replace it.
   */
  sweep(outside: readonly IValue[], attributes: readonly IValue[]): void {
    forEachStorage(outside, (storage) => {
      this.#entries.delete(storage);
      this.kept.delete(storage);
    });
    if (this.#entries.size === 0) return;
    forEachStorage(attributes, (storage) => {
      if (this.#entries.delete(storage)) this.kept.add(storage);
    });
    for (const storage of this.#entries.keys()) storage.dispose();
    this.#entries.clear();
  }
}

/** Visits the storages of all tensors reachable from `values` through containers, objects and gradients. */
export function forEachStorage(values: readonly IValue[], visit: (storage: Storage) => void): void {
  const seen = new Set<object>();
  const pending: IValue[] = [...values];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Tensor) {
      visit(value.storage);
      if (value.grad) pending.push(value.grad);
    } else if (value instanceof List || value instanceof Tuple) {
      for (const item of value.items) if (typeof item === 'object') pending.push(item);
    } else if (value instanceof Dict) {
      for (const [key, item] of value.entries) pending.push(key, item);
    } else if (value instanceof ScriptObject) {
      for (const slot of value.slots) if (typeof slot === 'object') pending.push(slot);
    }
  }
}
