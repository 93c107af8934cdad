import { expect, test } from 'vitest';
import type { Contestant } from './contestants/contestant.ts';
import { GpuCounter } from './gpu-counts.ts';
import { measure, median, type MeasureSettings } from './measure.ts';
import type { BenchModel } from './models/bench-model.ts';

const model = {
  name: 'model',
  expected: { tensors: [{ shape: [1], step: 1, values: [7] }], rtol: 0, atol: 0 },
} as unknown as BenchModel;

/** A contestant that notes when it runs, and answers with a number. */
function contestant(id: string, answer: number, log: string[]): Contestant {
  return {
    id,
    library: id,
    device: 'host',
    start: async () => '1',
    open: async () => ({
      run: async () => {
        log.push(id);
        return { tensors: () => [{ dtype: 'float32', shape: [1], data: Float32Array.of(answer) }] };
      },
      dispose: () => void log.push(`${id} ends`),
    }),
  };
}

const settings = (rounds: number, cpuSeconds: MeasureSettings['cpuSeconds'] = async () => null): MeasureSettings => ({
  rounds,
  // A turn is one call then.
  turnMilliseconds: 0,
  threads: 1,
  address: '',
  cpuSeconds,
  progress: () => undefined,
});

const counter = new GpuCounter({});

test('contestants take turns, and another one begins each round', async () => {
  const log: string[] = [];
  await measure(model, [contestant('a', 7, log), contestant('b', 7, log)], counter, settings(3));
  // A call for the answer and one more, the rounds, and one whose calls of WebGPU are counted.
  expect(log).toEqual(['a', 'a', 'b', 'b', 'a', 'b', 'b', 'a', 'a', 'b', 'a', 'a ends', 'b', 'b ends']);
});

test('a wrong answer has no time and gets no turn', async () => {
  const log: string[] = [];
  const found = await measure(model, [contestant('wrong', 8, log), contestant('right', 7, log)], counter, settings(2));
  expect(found.map(({ contestant: id, status }) => [id, status])).toEqual([
    ['wrong', 'wrong'],
    ['right', 'right'],
  ]);
  expect(found[0]).toMatchObject({ reason: 'element 0 is 8.00000, not 7.00000' });
  expect(log.filter((id) => id.startsWith('wrong'))).toEqual(['wrong', 'wrong ends']);
});

test('what a library cannot do is told with its reason', async () => {
  const broken: Contestant = {
    ...contestant('broken', 7, []),
    open: () => Promise.reject(new Error('no such operator')),
  };
  const found = await measure(model, [broken], counter, settings(1));
  expect(found).toEqual([{ contestant: 'broken', status: 'cannot', reason: 'no such operator' }]);
});

test('processor time is that of the turns, by call', async () => {
  let seconds = 0;
  const found = await measure(
    model,
    [contestant('a', 7, [])],
    counter,
    settings(4, async () => (seconds += 0.5)),
  );
  expect(found[0]).toMatchObject({ calls: 4, cpuMilliseconds: 500 });
});

test('what runs in another process tells its times itself', async () => {
  const log: string[] = [];
  const { open, ...native } = contestant('native', 7, log);
  const asked: number[] = [];
  const turn = async (milliseconds: number) => {
    asked.push(milliseconds);
    return { times: [2, 4, 9], cpuSeconds: 0.006 };
  };
  const other: Contestant = { ...native, open: async (given) => ({ ...(await open(given)), turn }) };
  const found = await measure(model, [other], counter, { ...settings(2), turnMilliseconds: 50 });
  expect(asked).toEqual([50, 50]);
  expect(found[0]).toMatchObject({ calls: 6, milliseconds: 4, cpuMilliseconds: 2, firstMilliseconds: null });
});

test('a median is the middle, or between the two there', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
});
