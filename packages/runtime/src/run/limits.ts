/** Bounds of a run: a program from an untrusted file ends with an error, not with the tab. And where work is worth a launch. */
export interface RuntimeLimits {
  /** Nested calls of functions and methods that are not inlined. */
  readonly maxCallDepth: number;
  /** Instructions of one call; Infinity for no bound. */
  readonly maxInstructions: number;
  /** Up to this many elements in every tensor, work on data that lies on the host is done there: a launch costs more.
   * Below zero, everything that has a kernel runs on the device. */
  readonly smallWork: number;
  /** How much recordings do in one launch that nothing but the launch has in common, in nodes of its expressions: each such shader is
   * another one to compile, and a long one takes seconds on software adapters. Zero: nothing. */
  readonly joinedNodes: number;
  /** Whether launches that take longer than a launch costs are joined too, in whatever order makes the fewest: where a run is made very often. */
  readonly joinsHeavy: boolean;
}

export const defaultLimits: RuntimeLimits = {
  maxCallDepth: 1000,
  maxInstructions: Infinity,
  smallWork: 1000,
  joinedNodes: 400,
  joinsHeavy: false,
};
