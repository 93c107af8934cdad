/** Numbers in [0, 1) that look random and are the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whole numbers of a range, both ends among it, each at most once, in an order that the seed gives. */
export function distinctSizes(seed: number, count: number, [least, most]: readonly [number, number]): number[] {
  const all = Array.from({ length: most - least + 1 }, (_, at) => least + at);
  if (count > all.length) throw new RangeError(`there are no ${count} numbers between ${least} and ${most}`);
  const random = randomNumbers(seed);
  for (let at = 0; at < count; at++) {
    const other = at + Math.floor(random() * (all.length - at));
    [all[at], all[other]] = [all[other], all[at]];
  }
  return all.slice(0, count);
}

/** Sizes by several dimensions, each at most once, in an order that the seed gives: as `distinctSizes`. */
export function distinctShapes(
  seed: number,
  count: number,
  ranges: readonly (readonly [number, number])[],
): number[][] {
  const counts = ranges.map(([least, most]) => most - least + 1);
  const total = counts.reduce((product, each) => product * each, 1);
  return distinctSizes(seed, count, [0, total - 1]).map((index) => {
    let rest = index;
    return ranges.map(([least], at) => {
      const offset = rest % counts[at];
      rest = Math.floor(rest / counts[at]);
      return least + offset;
    });
  });
}
