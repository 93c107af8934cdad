/** Bounds of a run: a program from an untrusted file ends with an error, not with the tab. */
export interface RuntimeLimits {
  /** Nested calls of functions and methods that are not inlined. */
  readonly maxCallDepth: number;
  /** Instructions of one call; Infinity for no bound. */
  readonly maxInstructions: number;
}

export const defaultLimits: RuntimeLimits = { maxCallDepth: 1000, maxInstructions: Infinity };
