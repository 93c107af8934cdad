import type { Storage } from '@cresset/tensor';
import type { LinearMemory } from '@cresset/wasm-fuser';

/** Bytes of packed weights that are kept at most. */
const MOST_BYTES = 256 << 20;
/** Layouts of one storage that are looked after. */
const MOST_LAYOUTS = 64;

interface Panels {
  /** How often the storage had been written to when it was seen. */
  readonly writes: number;
  readonly byteLength: number;
  /** Address of what was packed; null for what was only seen so far. */
  at: number | null;
}

/**
 * Weights as products want them, beside the tensors they were made of. What comes a second time as it was is taken for a weight and kept,
 * until somebody writes to it, its storage is given up, or others need the room; those used least recently go first.
 */
export class KeptPanels {
  readonly #memory: LinearMemory;
  readonly #byStorage = new WeakMap<Storage, Map<string, Panels>>();
  /** Those used last at the end. */
  readonly #kept = new Set<Panels>();
  readonly #abandoned = new FinalizationRegistry<Map<string, Panels>>((layouts) => {
    for (const panels of layouts.values()) this.#drop(panels);
  });
  #bytes = 0;

  constructor(memory: LinearMemory) {
    this.#memory = memory;
  }

  /** Bytes that are kept. */
  get byteLength(): number {
    return this.#bytes;
  }

  /**
   * The address of what was packed of a storage; null for what comes for the first time, and where there is no room.
   * @param layout tells what of the storage is meant, and how it is packed
   * @param pack writes as many bytes to an address
   */
  find(storage: Storage, layout: string, byteLength: number, pack: (to: number) => void): number | null {
    let layouts = this.#byStorage.get(storage);
    if (!layouts) {
      layouts = new Map();
      this.#byStorage.set(storage, layouts);
      this.#abandoned.register(storage, layouts);
    }
    const found = layouts.get(layout);
    if (found?.writes !== storage.writes) {
      if (found) this.#drop(found);
      if (layouts.size < MOST_LAYOUTS) layouts.set(layout, { writes: storage.writes, byteLength, at: null });
      return null;
    }
    if (found.at === null) {
      found.at = this.#take(byteLength);
      if (found.at === null) return null;
      this.#bytes += byteLength;
      pack(found.at);
    }
    this.#kept.delete(found);
    this.#kept.add(found);
    return found.at;
  }

  #take(byteLength: number): number | null {
    if (byteLength > MOST_BYTES) return null;
    for (const oldest of this.#kept) {
      if (this.#bytes + byteLength <= MOST_BYTES) break;
      this.#drop(oldest);
    }
    try {
      return this.#memory.take(byteLength);
    } catch {
      return null;
    }
  }

  #drop(panels: Panels): void {
    if (panels.at === null) return;
    this.#memory.give(panels.at);
    this.#bytes -= panels.byteLength;
    this.#kept.delete(panels);
    panels.at = null;
  }
}
