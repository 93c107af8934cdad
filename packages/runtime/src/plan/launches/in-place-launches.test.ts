import type { Storage, Tensor } from '@cresset/tensor';
import { binary, constant } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { storeInPlaces, type InPlaceLaunches } from './in-place-launches.ts';
import { elementOf, made, nestOf, note, recorderOf, run, type Contents } from './launches-fixture.ts';

/** Enough elements that another shader is worth it. */
const large = (): Tensor => made(1 << 16);

const doubled = (from: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));
const sum = (a: Tensor, b: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes), elementOf(b, axes))]));
const turned = (a: Tensor, b: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes, true), elementOf(b, axes, true))]));
const backwards = (from: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('flip', [to], (axes) => [elementOf(from, axes, true)]));

function inPlace(notes: readonly LaunchNote[], temporary: readonly Tensor[], dtypes = new Map()): InPlaceLaunches {
  const own = new Set(temporary.map(({ storage }) => storage));
  const dtypeOf = (storage: Storage) => dtypes.get(storage) ?? 'float32';
  return storeInPlaces(notes, (storage) => own.has(storage), dtypeOf, recorderOf());
}

/** What a tensor holds in the end, of others that hold numbers in their order. */
function outcome(notes: readonly LaunchNote[], homes: InPlaceLaunches['homes'], all: Tensor[], of: Tensor): number[] {
  const contents: Contents = new Map();
  const homeOf = (storage: Storage): Storage => (homes.has(storage) ? homeOf(homes.get(storage)!) : storage);
  for (const { storage, numel } of all)
    if (homeOf(storage) === storage) contents.set(storage, [...Array(numel).keys()]);
  for (const { storage } of all) contents.set(storage, contents.get(homeOf(storage))!);
  run(notes, contents, (points) => [...Array(points).keys()]);
  return Array.from(contents.get(of.storage)!);
}

test('a launch stores over an operand that nobody needs any more', () => {
  const [x, a, b, c, out] = [large(), large(), large(), large(), large()];
  const notes = [doubled(x, a), doubled(x, b), sum(a, b, c), backwards(c, out)];
  const { launches, homes } = inPlace(notes, [a, b, c]);
  expect([...homes]).toEqual([[c.storage, a.storage]]);
  expect(launches[2].storages).toEqual([a.storage, b.storage]);
  const all = [x, a, b, c, out];
  expect(outcome(launches, homes, all, out)).toEqual(outcome(notes, new Map(), all, out));
});

test('a chain of launches stores in one place', () => {
  const [x, y, a, b, c, d, out] = Array.from({ length: 7 }, large);
  const notes = [doubled(x, a), doubled(y, b), sum(a, b, c), sum(c, b, d), backwards(d, out)];
  const { launches, homes } = inPlace(notes, [a, b, c, d]);
  expect(homes.size).toBe(2);
  const all = [x, y, a, b, c, d, out];
  expect(outcome(launches, homes, all, out)).toEqual(outcome(notes, new Map(), all, out));
});

test.each([
  [
    'is read at other places',
    ([x, a, b, c, out]: Tensor[]) => [doubled(x, a), doubled(x, b), turned(a, b, c), sum(c, b, out)],
  ],
  ['is read later', ([x, a, b, c, out]: Tensor[]) => [doubled(x, a), doubled(x, b), sum(a, x, c), sum(a, c, out)]],
])('a launch stores over no operand that %s', (_, notesOf) => {
  const tensors = Array.from({ length: 5 }, large);
  const [, a, b, c, out] = tensors;
  const notes = notesOf(tensors);
  const { launches, homes } = inPlace(notes, [a, b, c]);
  expect([...homes.values()]).not.toContain(a.storage);
  expect(outcome(launches, homes, tensors, out)).toEqual(outcome(notes, new Map(), tensors, out));
});

test('a launch stores over nothing that outlives the recording, that is of another dtype, or that is small', () => {
  const [x, a, b, c] = [large(), large(), large(), large()];
  const notes = [doubled(x, a), doubled(x, b), sum(a, b, c), doubled(c, x)];
  expect(inPlace(notes, [c]).homes.size).toBe(0);
  expect(inPlace(notes, [a, b, c]).homes.size).toBe(1);
  const ints = new Map([a, b].map(({ storage }) => [storage, 'int32']));
  expect(inPlace(notes, [a, b, c], ints).homes.size).toBe(0);
  const small = [made(8), made(8), made(8), made(8)];
  const few = [doubled(small[0], small[1]), doubled(small[0], small[2]), sum(small[1], small[2], small[3])];
  expect(inPlace(few, small).launches).toEqual(few);
});
