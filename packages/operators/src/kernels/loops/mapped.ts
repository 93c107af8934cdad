import type { Pieces } from './pieces.ts';

/** What `work` makes of each item, with a stop after each. */
export function* mapped<Item, Result>(
  items: readonly Item[],
  work: (item: Item, at: number) => Pieces<Result>,
): Pieces<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at++) {
    if (at > 0) yield;
    results.push(yield* work(items[at], at));
  }
  return results;
}
