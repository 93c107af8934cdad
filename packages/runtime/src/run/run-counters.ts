/** Names with how often each was counted, the most frequent first. */
export type CountedNames = readonly (readonly [name: string, count: number])[];

const none: CountedNames = [];

/** How often operators ran at one place. */
export class Counts {
  #byName: Map<string, number> | null = null;
  /** What it comes to so far, where it is that. */
  #rows: CountedNames | null = none;

  get isEmpty(): boolean {
    return this.#rows?.length === 0;
  }

  add(name: string, count = 1): void {
    const byName = (this.#byName ??= new Map(this.#rows));
    byName.set(name, (byName.get(name) ?? 0) + count);
    this.#rows = null;
  }

  /** Adds what was counted before: most runs are one recording, whose counts are theirs. */
  addAll(rows: CountedNames): void {
    if (this.isEmpty) this.#rows = rows;
    else for (const [name, count] of rows) this.add(name, count);
  }

  get rows(): CountedNames {
    return (this.#rows ??= [...this.#byName!].sort((a, b) => b[1] - a[1]));
  }
}

/** What one run did; the numbers behind `lastRun` and the tests that hold dispatch counts. */
export class RunCounters {
  instructions = 0;
  /** Dispatches that were made from a recording. */
  replayed = 0;
  /** Operators (or fused groups, by their label) that ran on the device, with how often. */
  readonly device = new Counts();
  /** Operators on a handful of elements that were up to date on the host, done there. */
  readonly hostSmall = new Counts();
  /** Operators on doubles, which no device has. */
  readonly hostDouble = new Counts();
  /** Operators that have no kernel for the device: inputs were read back and the host kernel ran. */
  readonly hostFallback = new Counts();
  /** Why the device did not take an operator, the last time. */
  readonly fallbackReasons = new Map<string, string>();
}

export function countNames(names: readonly string[]): CountedNames {
  const counts = new Counts();
  for (const name of names) counts.add(name);
  return counts.rows;
}
