/** What one run did; the numbers behind `lastRun` and the tests that hold dispatch counts. */
export interface RunCounters {
  instructions: number;
  /** Dispatches that were made from a recording. */
  replayed: number;
  /** Operators (or fused groups, by their label) that ran on the device, with how often. */
  readonly device: Map<string, number>;
  /** Operators on a handful of elements that were up to date on the host, done there. */
  readonly hostSmall: Map<string, number>;
  /** Operators on doubles, which no device has. */
  readonly hostDouble: Map<string, number>;
  /** Operators that have no kernel for the device: inputs were read back and the host kernel ran. */
  readonly hostFallback: Map<string, number>;
  /** Why the device did not take an operator, the last time. */
  readonly fallbackReasons: Map<string, string>;
}

export function emptyRunCounters(): RunCounters {
  return {
    instructions: 0,
    replayed: 0,
    device: new Map(),
    hostSmall: new Map(),
    hostDouble: new Map(),
    hostFallback: new Map(),
    fallbackReasons: new Map(),
  };
}

export function countOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
