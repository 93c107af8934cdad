import { expect, test, vi } from 'vitest';
import { LinearMemory } from '../linear-memory.ts';
import { LINE_DONE } from '../routines/routine-functions.ts';
import { Launches } from './launches.ts';
import { PIECE_STEPS, type PreparedRoutine } from './programs.ts';
import type { ProductModules } from './product-modules.ts';

const [short, long] = [100, PIECE_STEPS + 1];

/** Runs two lines of a routine whose stops are what `stop` writes of them. */
function runLines(stepsOfLine: number, stop: (words: Int32Array, scratch: number) => void): number {
  const linear = new LinearMemory();
  const launches = new Launches({ linear, takeMemory: (bytes) => linear.take(bytes) }, {} as ProductModules, null);
  const run = vi.fn((_block: number, _from: number, _to: number, scratch: number) =>
    stop(linear.integers, scratch >> 2),
  );
  const lines = { lines: 2, stepsOfLine, scratchBytes: 64 };
  const prepared = { kind: 'routine', label: 'aten::sort', module: null, lines, functions: { run } };
  const before = linear.takenBytes;
  const work = launches.run(prepared as unknown as PreparedRoutine, 0, [], null);
  try {
    for (let steps = 0; !work.next().done; steps++) expect(steps).toBeLessThan(100);
  } finally {
    expect(linear.takenBytes).toBe(before);
  }
  return run.mock.calls.length;
}

test('lines are gone on with until they are done', () => {
  expect(runLines(short, (words, at) => (words[at] = LINE_DONE))).toBe(1);
  // Each of two lines has four stops.
  expect(runLines(long, (words, at) => (words[at] = words[at + 1]++ === 3 ? LINE_DONE : 1))).toBe(8);
});

test('what is never done with a line is an error', () => {
  expect(() => runLines(short, (words, at) => words[at]++)).toThrow(/^aten::sort is not done with a line/);
  expect(() => runLines(long, (words, at) => (words[at + 3] = 7))).toThrow(/does not go on with it$/);
});
