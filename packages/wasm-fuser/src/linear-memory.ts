const PAGE = 1 << 16;
/** Four gigabytes but for the last page, so that the end of what lies in it is an address too. */
export const MOST_PAGES = (1 << 16) - 1;
/** What a memory for several threads begins with. */
const SHARED_PAGES = 64;

/** Bytes of the largest memory. */
export const MOST_MEMORY = MOST_PAGES * PAGE;

/** Free bytes from `at` on. */
interface Gap {
  at: number;
  size: number;
}

/** One WebAssembly memory, which grows as it is asked for more, and who has what of it. */
export class LinearMemory {
  readonly memory: WebAssembly.Memory;
  /** In order, with something taken between any two. */
  readonly #gaps: Gap[];
  readonly #taken = new Map<number, number>();
  #floats: Float32Array;
  #integers: Int32Array;
  #view: DataView;

  /** @param isShared whether threads may use it together */
  constructor(readonly isShared = false) {
    const initial = isShared ? SHARED_PAGES : 1;
    this.memory = new WebAssembly.Memory({ initial, maximum: MOST_PAGES, shared: isShared });
    const { buffer } = this.memory;
    this.#gaps = [{ at: 0, size: initial * PAGE }];
    this.#floats = new Float32Array(buffer);
    this.#integers = new Int32Array(buffer);
    this.#view = new DataView(buffer);
  }

  /** All of it, until it grows: to be asked for again after `take`. */
  get floats(): Float32Array {
    if (this.#floats.buffer !== this.memory.buffer) this.#floats = new Float32Array(this.memory.buffer);
    return this.#floats;
  }

  get integers(): Int32Array {
    if (this.#integers.buffer !== this.memory.buffer) this.#integers = new Int32Array(this.memory.buffer);
    return this.#integers;
  }

  get view(): DataView {
    if (this.#view.buffer !== this.memory.buffer) this.#view = new DataView(this.memory.buffer);
    return this.#view;
  }

  /** Bytes that somebody has. */
  get takenBytes(): number {
    return [...this.#taken.values()].reduce((sum, size) => sum + size, 0);
  }

  /**
   * The address of so many bytes, a multiple of 64, which hold anything.
   * @throws RangeError where the engine has no more memory
   */
  take(byteLength: number): number {
    const size = Math.max(64, Math.ceil(byteLength / 64) * 64);
    const gaps = this.#gaps;
    let index = gaps.findIndex((gap) => gap.size >= size);
    if (index < 0) {
      const end = this.memory.buffer.byteLength;
      const last = gaps.at(-1);
      const open = last && last.at + last.size === end ? last.size : 0;
      const pages = this.#grow(Math.ceil((size - open) / PAGE));
      const grown = this.memory.buffer.byteLength - pages * PAGE;
      if (open) last!.size += grown;
      else gaps.push({ at: end, size: grown });
      index = gaps.length - 1;
    }
    const gap = gaps[index];
    const { at } = gap;
    gap.at += size;
    gap.size -= size;
    if (gap.size === 0) gaps.splice(index, 1);
    this.#taken.set(at, size);
    return at;
  }

  /**
   * Adds so many pages or more; how many there were before. A buffer as large as the memory is made anew each time, which an engine takes for memory to
   * collect, so that many small steps cost many collections.
   */
  #grow(pages: number): number {
    const before = this.memory.buffer.byteLength / PAGE;
    const ample = Math.min(Math.max(pages, before >>> 4), MOST_PAGES - before);
    try {
      if (ample > pages) return this.memory.grow(ample);
    } catch {
      // As much as is needed may be there.
    }
    return this.memory.grow(pages);
  }

  /** Gives back what `take` gave. */
  give(at: number): void {
    const size = this.#taken.get(at);
    if (size === undefined) return;
    this.#taken.delete(at);
    const gaps = this.#gaps;
    let index = gaps.findIndex((gap) => gap.at > at);
    if (index < 0) index = gaps.length;
    gaps.splice(index, 0, { at, size });
    for (const first of [index, index - 1]) {
      const [gap, next] = [gaps[first], gaps[first + 1]];
      if (!gap || !next || gap.at + gap.size !== next.at) continue;
      gap.size += next.size;
      gaps.splice(first + 1, 1);
    }
  }
}
