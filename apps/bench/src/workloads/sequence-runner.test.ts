import { expect, test } from 'vitest';
import { carriedOf, SequenceRunner, type SequenceLibrary } from './sequence-runner.ts';
import type { Sequence } from './workload.ts';

interface Named {
  readonly name: string;
}

const spec = (fill: number) => ({ shape: [1], fill, dtype: 'float32' }) as const;

/** A library that notes what it is asked; each call gives two tensors. */
function library(log: string[]): SequenceLibrary<Named> {
  const text = (value: unknown): string =>
    Array.isArray(value)
      ? `[${value.map(text).join()}]`
      : typeof value === 'number'
        ? `${value}`
        : (value as Named).name;
  let calls = 0;
  return {
    tensor: ({ data }) => ({ name: `t${data[0]}` }),
    async call(method, inputs, carries) {
      log.push(`${method}(${inputs.map(text).join()}) for ${[...carries].join()}`);
      calls++;
      return [{ name: `r${calls}a` }, { name: `r${calls}b` }];
    },
    dispose: ({ name }) => void log.push(`-${name}`),
  };
}

const sequence: Sequence = {
  before: [{ method: 'begin', inputs: [spec(1), 7] }],
  calls: [
    { method: 'go', inputs: [spec(2), [{ tuple: [{ carried: 1 }, spec(3)] }]] },
    { method: 'go', inputs: [{ carried: 0 }] },
  ],
};

test('each call takes what the one before gave, which is given up then', async () => {
  const log: string[] = [];
  const runner = new SequenceRunner(library(log), sequence);
  await runner.begin();
  expect(log).toEqual(['begin(t1,7) for 1']);
  const times = await runner.go();
  expect(times).toHaveLength(2);
  expect(log.slice(1)).toEqual(['go(t2,[[r1b,t3]]) for 0', '-r1a', '-r1b', 'go(r2a) for ', '-r2a', '-r2b']);
  expect(runner.results.map(({ name }) => name)).toEqual(['r3a', 'r3b']);
});

test('places of what is carried are found in what is nested', () => {
  expect(carriedOf(sequence.calls[0])).toEqual(new Set([1]));
  expect(carriedOf(sequence.before[0])).toEqual(new Set());
  expect(carriedOf(undefined)).toEqual(new Set());
});
