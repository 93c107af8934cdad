import { expect, test } from 'vitest';
import { MemoryLocations } from './memory-dag.ts';

const of = (...indices: number[]): MemoryLocations => {
  const locations = new MemoryLocations();
  for (const index of indices) locations.add(index);
  return locations;
};

test('locations are a set, in the order in which they were added', () => {
  expect([of().isEmpty, of(0).isEmpty]).toEqual([true, false]);
  expect([...of(3, 0, 3, 5, 0)]).toEqual([3, 0, 5]);
  const joined = of(2);
  joined.addAll(of());
  joined.addAll(of(7, 2, 0));
  joined.addAll(joined);
  expect([...joined]).toEqual([2, 7, 0]);
  expect([0, 1, 2, 7].map((index) => joined.has(index))).toEqual([true, false, true, true]);
});

test('sets of any sizes are found to meet or not', () => {
  for (const [left, right, expected] of [
    [of(), of(), false],
    [of(), of(0), false],
    [of(0), of(0), true],
    [of(1), of(2, 3, 1), true],
    [of(4, 3, 1), of(2, 3), true],
    [of(4, 5), of(2, 3, 1), false],
  ] as const) {
    expect([left.intersects(right), right.intersects(left)]).toEqual([expected, expected]);
  }
});
