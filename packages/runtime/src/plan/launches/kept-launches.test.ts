import type { Storage, Tensor } from '@cresset/tensor';
import { axis, binary, constant, param, reduce, type Kernel, type PreparedLaunch } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import type { KeptTensor, KeptValue, KeptValues } from '../kept-values.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { KeptLaunches } from './kept-launches.ts';
import { elementOf, loadedBy, made, nestOf, note, recorderOf } from './launches-fixture.ts';

const doubled = (from: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));

/** Values that nobody works out: their keys are what they are made of. */
const valuesOf = (room = 1 << 20): KeptValues =>
  ({
    room,
    take: (_launch: PreparedLaunch, { label }: Kernel, tensor: KeptTensor, inputs: readonly string[]) => ({
      key: `${label} of ${inputs.join()}`,
      made: tensor,
    }),
  }) as unknown as KeptValues;

const [w, x, a, b, out] = Array.from({ length: 5 }, () => made(8));
const isTemporary = (storage: Storage): boolean => storage === a.storage || storage === b.storage;
const keptOf = (notes: readonly LaunchNote[], room?: number): KeptLaunches =>
  new KeptLaunches(valuesOf(room), notes, (storage) => storage === w.storage, recorderOf());

test('what is made of parameters alone is left out, and what is made of that', () => {
  const notes = [doubled(w, a), doubled(a, b), doubled(x, out), doubled(b, out)];
  const kept = keptOf(notes);
  const left = kept.without(notes, isTemporary);
  expect(left).toEqual(notes.slice(2));
  const taken: [Storage, string, Storage[]][] = [];
  kept.take(left, (stands, value: KeptValue, inputs) => void taken.push([stands, value.key, inputs]));
  expect(taken).toEqual([
    [a.storage, `mul of ${w.storage.serial}`, [w.storage]],
    [b.storage, `mul of mul of ${w.storage.serial}`, [a.storage]],
  ]);
});

test('only what a launch uses after all is kept', () => {
  const notes = [doubled(w, a), doubled(x, out)];
  const kept = keptOf(notes);
  const taken: Storage[] = [];
  kept.take(kept.without(notes, isTemporary), (stands) => void taken.push(stands));
  expect(taken).toEqual([]);
});

test.each([
  ['outlives the recording', [doubled(w, out)]],
  ['is made of something else too', [doubled(x, a)]],
  ['is stored to once more', [doubled(w, a), doubled(x, a)]],
  ['is made of a parameter that is stored to', [doubled(w, a), doubled(a, w)]],
  ['is made of one that is stored to before', [doubled(x, w), doubled(w, a)]],
])('a launch stays where what it makes %s', (_, notes) => {
  expect(keptOf(notes).without(notes, isTemporary)).toEqual(notes);
});

test('a launch stays where what it makes takes more memory than what it is made of, or than there is room for', () => {
  const spread = [note(nestOf('repeat', [a], ([place]) => [elementOf(w.asStrided([4], [1]), [halved(place)])]))];
  expect(keptOf(spread).without(spread, (storage) => storage === a.storage)).toEqual([]);
  const wide = made(16);
  const larger = [note(nestOf('repeat', [wide], ([place]) => [elementOf(w, [halved(place)])]))];
  expect(keptOf(larger).without(larger, () => true)).toEqual(larger);
  const notes = [doubled(w, a)];
  expect(keptOf(notes, 31).without(notes, isTemporary)).toEqual(notes);
});

const halved = (place: Parameters<typeof elementOf>[1][number]) => binary('truncdiv', place, param('i32', 2));

test('a kernel is left with what it has to work out each time', () => {
  const rows = made(64, 8);
  const along = axis('r', param('i32', 8));
  const kernel = nestOf('scale', [rows], ([row, column]) => {
    const total = reduce('sum', [along], binary('mul', elementOf(w, [along]), elementOf(w, [along])));
    return [binary('mul', elementOf(rows, [row, column]), binary('div', elementOf(w, [column]), total))];
  });
  const kept = keptOf([note(kernel)]);
  expect(loadedBy(kept.lighten(kernel)).has(w.storage)).toBe(false);
  // A parameter that a launch stores to is none.
  const written = keptOf([note(kernel), doubled(x, w)]);
  expect(written.lighten(kernel)).toBe(kernel);
});
