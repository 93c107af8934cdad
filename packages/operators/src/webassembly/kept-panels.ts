import { takeScratch, type DerivedMemory, type Storage } from '@cresset/tensor';
import type { LinearMemory } from '@cresset/wasm-fuser';
import type { Pieces } from '../kernels/loops/pieces.ts';

/** Bytes of packed weights that are kept at most. */
const MOST_BYTES = 256 << 20;
/** Layouts of one storage that are looked after. */
const MOST_LAYOUTS = 64;

interface Panels {
  /** How often the storage had been written to when it was seen. */
  readonly writes: number;
  readonly byteLength: number;
  readonly layouts: Layouts;
  /** Address of what is packed; null for what was only seen so far. */
  at: number | null;
  /** All of it is there. */
  isPacked: boolean;
}

/** Whether a program may take so much. */
function mayTake(byteLength: number): boolean {
  try {
    takeScratch(byteLength);
    return true;
  } catch {
    return false;
  }
}

/** What is kept of one storage. */
class Layouts implements DerivedMemory {
  readonly panels = new Map<string, Panels>();
  byteLength = 0;

  constructor(readonly drop: (panels: Panels) => void) {}

  giveUp(): void {
    // What is being packed is its packer's.
    for (const panels of this.panels.values()) if (panels.isPacked) this.drop(panels);
  }
}

/**
 * Weights as products want them, beside the tensors they were made of. What comes a second time as it was is taken for a weight and kept,
 * until somebody writes to it, its storage is given up, or others need the room; those used least recently go first. They count as memory of
 * the storage.
 */
export class KeptPanels {
  readonly #memory: LinearMemory;
  readonly #byStorage = new WeakMap<Storage, Layouts>();
  /** Those used last at the end. */
  readonly #kept = new Set<Panels>();
  readonly #abandoned = new FinalizationRegistry<Layouts>((layouts) => layouts.giveUp());
  #bytes = 0;

  constructor(memory: LinearMemory) {
    this.#memory = memory;
  }

  /** Bytes that are kept. */
  get byteLength(): number {
    return this.#bytes;
  }

  /** Whether `find` is going to give an address: what comes for the first time is noted. */
  isKept(storage: Storage, layout: string, byteLength: number): boolean {
    const found = this.#seen(storage, layout, byteLength);
    return found !== null && (found.at === null ? byteLength <= MOST_BYTES && mayTake(byteLength) : found.isPacked);
  }

  /**
   * The address of what was packed of a storage; null for what comes for the first time, and where there is no room.
   * @param layout tells what of the storage is meant, and how it is packed
   * @param pack writes as many bytes to an address
   */
  *find(storage: Storage, layout: string, byteLength: number, pack: (to: number) => Pieces): Pieces<number | null> {
    const found = this.#seen(storage, layout, byteLength);
    if (!found) return null;
    if (found.at === null) {
      found.at = this.#take(byteLength);
      if (found.at === null) return null;
      this.#bytes += byteLength;
      found.layouts.byteLength += byteLength;
      try {
        yield* pack(found.at);
        found.isPacked = true;
      } finally {
        // Whoever ended the work has left half of it, and somebody may have written to the storage meanwhile.
        if (!found.isPacked || found.writes !== storage.writes) this.#drop(found);
      }
    }
    // Somebody else is at it.
    if (!found.isPacked) return null;
    this.#kept.delete(found);
    this.#kept.add(found);
    return found.at;
  }

  /** What is known of this layout of the storage as it is now; null where it was not seen before. */
  #seen(storage: Storage, layout: string, byteLength: number): Panels | null {
    let layouts = this.#byStorage.get(storage);
    if (!layouts) {
      layouts = new Layouts((panels) => this.#drop(panels));
      this.#byStorage.set(storage, layouts);
      this.#abandoned.register(storage, layouts);
      storage.derived ??= layouts;
    }
    const found = layouts.panels.get(layout);
    if (found?.writes === storage.writes) return found;
    if (found?.isPacked) this.#drop(found);
    if (found || layouts.panels.size < MOST_LAYOUTS) {
      layouts.panels.set(layout, { writes: storage.writes, byteLength, layouts, at: null, isPacked: false });
    }
    return null;
  }

  #take(byteLength: number): number | null {
    if (byteLength > MOST_BYTES || !mayTake(byteLength)) return null;
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
    panels.layouts.byteLength -= panels.byteLength;
    this.#kept.delete(panels);
    panels.at = null;
    panels.isPacked = false;
  }
}
