import { Dict, List, Tensor, Tuple, type IValue, type ScriptObject, type Storage } from '@cresset/tensor';
import { KeptStorages } from './kept-storages.ts';
import { forEachStorage } from './reachable-storages.ts';

export interface LedgerEntry {
  /** Registers that hold a tensor over this storage, counted with multiplicity. */
  holders: number;
  /** Reachable from a mutable container: only the sweep at the end of the run can tell whether it still is. */
  pinned: boolean;
  /** Whether that is something else than an attribute of a module. */
  spread: boolean;
}

/**
 * Frees the device memory of what a run makes at its last use.
 *
 * PyTorch counts references to a storage; here the registers of the interpreter are counted, which is where values of a
 * running program live. A tensor that goes into something that can change later (a list, a dict, an attribute) is pinned
 * and left to `sweep`. Storages that the run did not make (weights, inputs) are not in the ledger and never freed.
 *
 * Everything is pinned on its way into a container, so all that lies in one is pinned already: what is done with a
 * container never asks what it holds.
 */
export class StorageLedger {
  /** Storages made in this run that are still held. */
  readonly entries = new Map<Storage, LedgerEntry>();
  /** What attributes lost. */
  readonly #replaced: IValue[] = [];

  /** @param kept what the attributes of the program hold; shared by all runs of a context */
  constructor(private readonly kept = new KeptStorages()) {}

  /** Takes charge of a storage that an operator has just made. */
  own(storage: Storage): void {
    if (!this.entries.has(storage)) this.entries.set(storage, { holders: 0, pinned: false, spread: false });
  }

  /** A register holds `value` from now on. `counted` says that a list in it never changes and is counted through. */
  retain(value: IValue, counted: boolean): void {
    if (value instanceof Tensor) {
      const entry = this.entries.get(value.storage);
      if (entry) entry.holders++;
    } else if (value instanceof Tuple || (counted && value instanceof List)) {
      for (const item of value.items) this.retain(item, counted);
    }
  }

  /** A register gave `value` up, which it was told to retain before with the same `counted`. */
  release(value: IValue, counted: boolean): void {
    if (value instanceof Tensor) {
      const entry = this.entries.get(value.storage);
      if (entry && --entry.holders === 0 && !entry.pinned) {
        this.entries.delete(value.storage);
        value.storage.dispose();
      }
    } else if (value instanceof Tuple || (counted && value instanceof List)) {
      for (const item of value.items) this.release(item, counted);
    }
  }

  /** `value` goes into something that can change later: from here on it is the sweep's. */
  pin(value: IValue): void {
    if (value instanceof Tensor) {
      this.#pinStorage(value.storage);
      if (value.grad) this.pin(value.grad);
    } else if (value instanceof Tuple) {
      for (const item of value.items) this.pin(item);
    }
  }

  /** Pins what was put into a list or dict that has just been made, or into those of a tuple. */
  pinItems(made: IValue): void {
    if (made instanceof List) for (const item of made.items) this.pin(item);
    else if (made instanceof Tuple) for (const item of made.items) this.pinItems(item);
    else if (made instanceof Dict) {
      for (const [key, item] of made.entries) {
        this.pin(key);
        this.pin(item);
      }
    }
  }

  /** Pins all that is reachable from something whose parts were made with it. */
  pinAll(made: IValue): void {
    forEachStorage([made], (storage) => this.#pinStorage(storage));
  }

  #pinStorage(storage: Storage): void {
    const entry = this.entries.get(storage);
    if (entry) entry.pinned = entry.spread = true;
    else this.kept.noteSpread(storage);
  }

  /**
   * An attribute is about to hold `value`. What an earlier run put there, and never handed out, is this run's to free where nothing
   * else holds it in the end.
   */
  setAttribute(object: ScriptObject, slot: number, value: IValue): void {
    const old = object.slots[slot];
    if (typeof old === 'object' && old !== null) this.#replaced.push(old);
    if (!(value instanceof Tensor) || value.grad || value.quantizer || !object.type.isModule()) return this.pin(value);
    const entry = this.entries.get(value.storage);
    if (entry) entry.pinned = true;
    this.kept.notePlace(object, slot);
  }

  /** Somebody else has `storage` too, which an earlier run made: it is not freed when attributes lose it. */
  handOut(storage: Storage): void {
    this.kept.handOut(storage);
  }

  /**
   * Ends the run: frees everything it made that can be reached neither from `outside` (results and arguments: the caller's now) nor
   * from `attributes` of the module, where later runs may replace it.
   */
  sweep(outside: readonly IValue[], attributes: readonly IValue[]): void {
    const { kept } = this;
    kept.takeBack(this.#replaced.splice(0));
    for (const [storage, { pinned, spread }] of this.entries) kept.add(storage, spread || !pinned);
    this.entries.clear();
    forEachStorage(outside, (storage) => kept.handOut(storage));
    kept.sweep(attributes);
  }
}
