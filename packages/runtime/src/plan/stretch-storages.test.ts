import { CressetError } from '@cresset/ir';
import { Storage, Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { StorageLedger } from '../memory/storage-ledger.ts';
import { FakeDevice, type FakeBuffer } from './fake-device-fixture.ts';
import type { KeptValue, KeptValues } from './kept-values.ts';
import { elementOf, nestOf, prepared } from './passes/launches-fixture.ts';
import type { LaunchProgram, ProgramStep, ProgramStorage } from './program/launch-program.ts';
import { StretchStorages, type BoundStorage } from './stretch-storages.ts';

const floats = (...values: number[]): Storage => Storage.onHost(Float32Array.from(values).buffer as ArrayBuffer);
const bound = (storage: number, others: Partial<BoundStorage> = {}): BoundStorage => ({
  storage,
  layout: 'float32',
  stored: false,
  isPassing: false,
  ...others,
});
const elementsOf = (buffer: unknown): number[] =>
  Array.from(new Float32Array((buffer as FakeBuffer).bytes.slice().buffer));

type Described = readonly [Storage, ProgramStorage['kind'], Partial<ProgramStorage>?];

/** A program that has these storages, and no launches. */
function programOf(described: readonly Described[], steps: readonly ProgramStep[] = []): LaunchProgram {
  const storages = described.map(([storage, kind, others]): [Storage, ProgramStorage] => [
    storage,
    { kind, dtype: 'float32', layout: 'float32', ...others },
  ]);
  return { steps, storages: new Map(storages), env: null };
}

/** What a stretch has: an argument, a constant, what outlives it, a copy of what the host made, and what the host makes for it alone. */
function storagesOf(fixed = floats(1, 2), copied = floats(3, 4)): StretchStorages {
  const program = programOf([
    [floats(0, 0), 'given'],
    [floats(0, 0), 'passing'],
    [fixed, 'fixed'],
    [floats(0, 0), 'new'],
    [floats(0, 0), 'copied', { copy: copied }],
  ]);
  const all = [bound(0), bound(1, { isPassing: true }), bound(2), bound(3, { stored: true }), bound(4)];
  return new StretchStorages(program, all, null);
}

function give(storages: StretchStorages, ...given: Storage[]): void {
  given.forEach((storage, at) => (storages.now[at] = storage));
}

test('a replay finds its storages, and has new ones for what outlives it', () => {
  const fake = new FakeDevice();
  const storages = storagesOf();
  const results: Storage[] = [];
  for (const run of [0, 1]) {
    const argument = floats(10 + run, 0);
    give(storages, argument, floats(20 + run, 0));
    expect(storages.canReachDevice(fake.device)).toBe(true);
    const buffers = storages.open(fake.device, null);
    expect(buffers.map(elementsOf)).toEqual([
      [10 + run, 0],
      [20 + run, 0],
      [1, 2],
      [0, 0],
      [3, 4],
    ]);
    results.push(storages.now[3]);
    expect(argument.isOnDevice).toBe(true);
    storages.close(fake.device);
  }
  expect(results[0]).not.toBe(results[1]);
  expect(results.map(({ isDisposed }) => isDisposed)).toEqual([false, false]);
});

test('what it worked with is not its own when it is over', () => {
  const fake = new FakeDevice();
  const storages = storagesOf();
  const passing = floats(5, 6);
  give(storages, floats(0, 0), passing);
  storages.canReachDevice(fake.device);
  const before = new Set(fake.held);
  const [, sent] = storages.open(fake.device, null);
  storages.close(fake.device);
  // A copy of its elements went to the launches, and the storage is as it was.
  expect([fake.held.has(sent as FakeBuffer), before.has(sent as FakeBuffer), passing.isOnDevice]).toEqual([
    false,
    false,
    false,
  ]);
  expect(storages.now.every((storage) => storage === null)).toBe(true);
});

// What outlives the stretch is made first; the others come in the order in which they are bound.
test.each([0, 1, 2, 3, 4])(
  'where there is no memory for number %i of five, that is told, and what was made is given back',
  (failing) => {
    const fake = new FakeDevice();
    const [argument, fixed] = [floats(0, 0), floats(1, 2)];
    const storages = storagesOf(fixed);
    const open = (): readonly unknown[] => {
      give(storages, argument, floats(5, 6));
      expect(storages.canReachDevice(fake.device)).toBe(true);
      try {
        return storages.open(fake.device, new StorageLedger());
      } catch (error) {
        storages.undo();
        throw error;
      } finally {
        storages.close(fake.device);
      }
    };
    fake.failsAt = failing;
    expect(open).toThrow(new CressetError('MEMORY_LIMIT', 'for this test'));
    // What lives on is on the device, or not yet.
    expect(fake.held.size).toBe([argument, fixed].filter(({ isOnDevice }) => isOnDevice).length);
    expect(open()).toHaveLength(5);
  },
);

test('a storage that lies on another device in another way cannot be reached', () => {
  const [fake, other] = [new FakeDevice(), new FakeDevice()];
  const storages = storagesOf();
  const argument = Storage.onDevice(other.device, 'float32', 2);
  give(storages, argument, floats(5, 6));
  expect(storages.canReachDevice(fake.device)).toBe(false);
});

test('what is made of parameters is worked out anew where it is out of date, and what is made of that as well', () => {
  const fake = new FakeDevice();
  const worked: string[] = [];
  const value = (name: string, isFresh: () => boolean): KeptValue => {
    const storage = floats(0, 0);
    return {
      isFreshForUse: isFresh,
      canBeMade: () => true,
      storageOf: () => (worked.push(name), storage),
      storage,
      varying: -1,
    } as unknown as KeptValue;
  };
  let isFresh = true;
  const released: KeptValue[] = [];
  const values = [value('a', () => isFresh), value('b', () => true), value('c', () => true)];
  const [given, a, b, c] = Array.from({ length: 4 }, () => Tensor.empty([2], 'float32'));
  const keep = (from: Tensor, to: Tensor): ProgramStep => {
    const kernel = nestOf('mul', [to], (axes) => [elementOf(from, axes)]);
    return { op: 'keep', storage: to.storage, launch: prepared([kernel]), kernel };
  };
  const kept = [a, b, c].map(({ storage }): Described => [storage, 'kept']);
  const program = programOf([[given.storage, 'given'], ...kept], [keep(given, a), keep(a, b), keep(given, c)]);
  const waiting = [...values];
  const storages = new StretchStorages(program, [bound(2)], { take: () => waiting.shift()! });
  // They are there from the beginning.
  expect(worked.splice(0)).toEqual(['a', 'b', 'c']);
  const replay = (): void => {
    give(storages, floats(1, 2));
    expect(storages.canReachDevice(fake.device)).toBe(true);
    storages.open(fake.device, null);
    storages.close(fake.device);
  };
  replay();
  expect(worked).toEqual([]);
  isFresh = false;
  replay();
  expect(worked).toEqual(['a', 'b']);
  storages.dispose({ release: (each: KeptValue) => void released.push(each) } as unknown as KeptValues);
  expect(released).toEqual(values);
});
