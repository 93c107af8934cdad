/**
 * What was compiled, by key. What was asked for last stays here; beyond that, what somebody else still has is found, as recordings have their kernels. So nothing is
 * compiled twice that is in use, and nothing is kept for ever.
 */
export class KernelCache<Compiled extends object> {
  #recent = new Map<string, Compiled>();
  #older = new Map<string, Compiled>();
  readonly #elsewhere = new Map<string, WeakRef<Compiled>>();

  /** @param kept how many are kept at least; twice as many at most */
  constructor(private readonly kept: number) {}

  /** All that there are. */
  get values(): Compiled[] {
    const elsewhere = [...this.#elsewhere.values()].flatMap((reference) => reference.deref() ?? []);
    return [...new Set([...elsewhere, ...this.#older.values(), ...this.#recent.values()])];
  }

  find(key: string): Compiled | undefined {
    const recent = this.#recent.get(key);
    if (recent) return recent;
    const known = this.#older.get(key) ?? this.#elsewhere.get(key)?.deref();
    if (known) this.add(key, known);
    return known;
  }

  add(key: string, compiled: Compiled): void {
    this.#elsewhere.delete(key);
    this.#recent.set(key, compiled);
    if (this.#recent.size < this.kept) return;
    for (const [gone, reference] of this.#elsewhere) if (!reference.deref()) this.#elsewhere.delete(gone);
    for (const [old, each] of this.#older) if (!this.#recent.has(old)) this.#elsewhere.set(old, new WeakRef(each));
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}
