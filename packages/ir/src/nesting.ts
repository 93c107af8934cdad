import { isStackOverflow, type CressetError } from './error.ts';

/**
 * How deep recursion over what somebody else wrote may go: texts, trees, graphs, types and values, all taken together. No
 * program comes near it, and an engine's stack has room for several times as much.
 */
export const MAX_NESTING = 500;

let levels = 0;

/**
 * Runs `body` some levels deeper; throws what `tooDeep` makes where that is too deep. Whatever recurses over something that can be
 * nested without end does so through this function: the levels of a compiler that calls a parser that builds types add up, as
 * their frames do on the stack.
 *
 * @param cost levels that `body` counts for: how many times as much stack it takes as a step over one node of a tree
 */
export function nested<T>(body: () => T, tooDeep: () => CressetError, cost = 1): T {
  if (levels + cost > MAX_NESTING) {
    throw tooDeep();
  }
  levels += cost;
  try {
    return body();
  } catch (error) {
    // Whoever called us may have left little of the stack.
    throw isStackOverflow(error) ? tooDeep() : error;
  } finally {
    levels -= cost;
  }
}
