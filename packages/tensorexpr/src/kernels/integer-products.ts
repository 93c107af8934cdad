/** Which rows are multiplied: `count` of `depth` integers on the left, and `outputs` of a weight. */
export interface IntegerRows {
  readonly depth: number;
  readonly count: number;
  readonly outputs: number;
  /** Where the rows of the weight begin. */
  readonly rightFirst?: number;
  readonly outputFirst?: number;
  readonly outputStride?: number;
}

/** Products of integers of 16 bits. */
export interface IntegerProducts {
  /**
   * Puts the sums of products of rows with rows of a weight, those of 32 bits whatever comes of them, into `sums`: `count` rows, `outputStride` apart. Null
   * where that is left to others; the result is false where it could not be done after all.
   *
   * @param weight never written to again: it stays packed as long as somebody has it
   */
  multiply(
    left: Int32Array,
    weight: Int32Array,
    sums: Int32Array,
    rows: IntegerRows,
  ): Generator<void, boolean, void> | null;
}

/** Who multiplies integers in this thread, where somebody does. */
export interface IntegerServices {
  readonly integerProducts?: IntegerProducts | undefined;
}
