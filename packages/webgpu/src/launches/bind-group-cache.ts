/** Bind groups kept at least; twice as many at most. */
const keptGroups = 4096;

/**
 * Bind groups by program layout and buffers, those that were used last. Buffers are never named by the same number again, so a
 * group with one that is gone is not asked for any more and drops out in time.
 */
export class BindGroupCache {
  #recent = new Map<string, GPUBindGroup>();
  #older = new Map<string, GPUBindGroup>();

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** The group of this key; `make` makes it where there is none. */
  find(key: string, make: () => GPUBindGroup): GPUBindGroup {
    const known = this.#recent.get(key);
    if (known) return known;
    const group = this.#older.get(key) ?? make();
    if (this.#recent.size >= keptGroups) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, group);
    return group;
  }
}
