import { expect, test } from 'vitest';
import type { Contestant } from './contestants/contestant.ts';
import { GpuCounter } from './gpu-counts.ts';
import { measureWorkload, newBesideAgain } from './measure-workload.ts';
import type { OpenWorkload } from './workloads/open-workload.ts';
import type { Sequence, SequenceKind } from './workloads/workload.ts';

const sequence: Sequence = { before: [], calls: [{ method: 'forward', inputs: [] }] };

const open = {
  workload: { name: 'workload', known: [sequence], fresh: [sequence, sequence] },
  expected: (kind: SequenceKind, at: number) => ({
    tensors: [{ shape: [1], step: 1, values: [kind === 'known' ? 7 : 10 + at] }],
    rtol: 0,
    atol: 0,
  }),
} as unknown as OpenWorkload;

/** A contestant that notes what it does. @param answer to a sequence */
function contestant(id: string, log: string[], answer: (kind: SequenceKind, at: number) => number): Contestant {
  let recordings = 0;
  return {
    id,
    library: id,
    device: 'host',
    start: async () => '1',
    open: () => Promise.reject(new Error('no model')),
    openWorkload: async () => ({
      begin: async (kind, at) => async () => {
        log.push(`${id} ${kind} ${at}`);
        const isNew = log.filter((line) => line === log.at(-1)).length === 1;
        if (isNew) recordings++;
        const tensor = { dtype: 'float32', shape: [1], data: Float32Array.of(answer(kind, at)) } as const;
        const launches = { all: 10, replayed: isNew ? 0 : 10 };
        return { times: [isNew ? 6 : 2], cpuSeconds: 0.004, launches, tensors: async () => [tensor] };
      },
      recordings: async () => recordings,
      dispose: () => void log.push(`${id} ends`),
    }),
  };
}

const right = (kind: SequenceKind, at: number): number => (kind === 'known' ? 7 : 10 + at);

const settings = {
  rounds: 2,
  turnMilliseconds: 0,
  threads: 1,
  address: '',
  cpuSeconds: async () => 0,
  progress: () => undefined,
};

test('known sizes come three times, new ones then once, and again', async () => {
  const log: string[] = [];
  const [found] = await measureWorkload(open, [contestant('a', log, right)], new GpuCounter({}), settings);
  const known = Array.from({ length: 3 }, () => 'a known 0');
  const fresh = Array.from({ length: 5 }, () => ['a fresh 0', 'a fresh 1']).flat();
  expect(log).toEqual([...known, ...fresh, 'a ends']);
  expect(found).toMatchObject({
    status: 'right',
    newBesideAgain: { milliseconds: 3, cpuMilliseconds: 1 },
    recordings: { known: 1, fresh: 2 },
    passes: {
      first: { calls: 1, milliseconds: 6, cpuMilliseconds: 4, launches: { all: 10, replayed: 0 } },
      second: { calls: 1, milliseconds: 2 },
      third: { calls: 1, milliseconds: 2 },
      new: { calls: 2, milliseconds: 6, launches: { all: 20, replayed: 0 } },
      again: { calls: 4, milliseconds: 2, launches: { all: 40, replayed: 40 } },
    },
  });
});

test('contestants take turns by sequence; who is wrong has no more of them', async () => {
  const log: string[] = [];
  const racing = [contestant('a', log, right), contestant('b', log, () => 7), contestant('c', log, right)];
  const found = await measureWorkload(open, racing, new GpuCounter({}), settings);
  expect(found.map(({ status }) => status)).toEqual(['right', 'wrong', 'right']);
  expect(found[1]).toMatchObject({ reason: 'fresh sequence 0: element 0 is 7.00000, not 10.0000' });
  expect(log.filter((line) => line.startsWith('b'))).toEqual([...Array(3).fill('b known 0'), 'b fresh 0', 'b ends']);
  const first = log.indexOf('a fresh 1');
  // Another one begins each time.
  expect(log.indexOf('c fresh 1')).toBeLessThan(first);
});

test('a library without twins is told to have none', async () => {
  const { openWorkload: _, ...other } = contestant('other', [], right);
  const found = await measureWorkload(open, [other], new GpuCounter({}), settings);
  expect(found).toEqual([{ contestant: 'other', status: 'cannot', reason: 'has no twins of workloads' }]);
});

test('a call is held against the same one later', () => {
  // Twice, three and eight times the median of the later ones.
  const fresh = [[4, 9], [8]];
  const again = [[2, 3], [1], [1, 3], [1], [3, 2], [7]];
  expect(newBesideAgain(fresh, again)).toBe(3);
});
