import type { IValue, Storage } from '@cresset/tensor';
import { forEachStorage } from './reachable-storages.ts';

/** Values that are looked through after every run: what most models have. */
const FREE_VALUES = 10_000;
/** Values that may be looked through for each storage, and for each kilobyte, that it decides about. */
const VALUES_PER_STORAGE = 8;
/** Memory that does not wait, bytes. */
const MAX_WAITING_BYTES = 64 << 20;

/** Frees what nothing holds any more. What has a copy on the host may be a literal of a program: that stays. */
export function giveUpCopies(storage: Storage): void {
  if (storage.isOnHost) storage.hostBytesForWriting();
  else storage.dispose();
}

/**
 * Storages of which only a walk through the attributes of a program tells whether something still holds them.
 *
 * A program whose attributes hold a long list would pay for its length with every run, so the walk waits until enough has
 * gathered that it costs each storage a constant.
 */
export class UndecidedStorages {
  readonly #storages = new Set<Storage>();
  readonly #roots = new Set<IValue>();
  #bytes = 0;
  /** What the last walk looked at. */
  #walked = 0;

  add(storage: Storage): void {
    if (this.#storages.has(storage)) return;
    this.#storages.add(storage);
    this.#bytes += storage.byteLength;
  }

  delete(storage: Storage): void {
    if (this.#storages.delete(storage)) this.#bytes -= storage.byteLength;
  }

  /** Calls `held` or `lost` for each storage, where it is time for that. @param roots objects whose attributes may hold them */
  decide(roots: Iterable<IValue>, held: (storage: Storage) => void, lost: (storage: Storage) => void): void {
    if (this.#storages.size === 0) return;
    // A later run may know other objects: those of this one can hold what it left too.
    for (const root of roots) this.#roots.add(root);
    if (!this.#isTime()) return;
    const waiting = this.#storages;
    this.#walked = forEachStorage([...this.#roots], (storage) => {
      if (waiting.delete(storage)) held(storage);
    });
    for (const storage of waiting) lost(storage);
    waiting.clear();
    this.#roots.clear();
    this.#bytes = 0;
  }

  #isTime(): boolean {
    const worth = FREE_VALUES + VALUES_PER_STORAGE * this.#storages.size + this.#bytes / 1024;
    return this.#walked <= worth || this.#bytes >= MAX_WAITING_BYTES;
  }
}
