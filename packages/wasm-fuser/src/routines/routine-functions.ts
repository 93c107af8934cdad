/** A routine as a function of the address of its launch block, lines, and memory to work in. */
export interface RoutineFunctions {
  /**
   * Goes over lines one after the other, or, unless `isWhole`, goes on with the first of them up to the next stop. The first two words of the memory are 0
   * before a line is begun, and the first is {@link LINE_DONE} behind it: until it is, the line is gone on with, and each time one of {@link LINE_WORDS} changes.
   * `table` is where what they look up lies.
   */
  run(block: number, from: number, to: number, scratch: number, isWhole: number, table: number): void;
}

/** The first word of the memory that a line was worked on in, when that is done. */
export const LINE_DONE = -1;

/** How many words of that memory tell how far a line is. */
export const LINE_WORDS = 16;
