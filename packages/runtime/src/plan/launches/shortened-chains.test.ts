import { binary, constant } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { anyLaunches, expectSame } from './any-launches-fixture.ts';
import type { RecordedMemory } from './fused-launches.ts';
import { elementOf, made, memoryOf, nestOf, note, readBy, recorderOf } from './launches-fixture.ts';
import { shortenChains } from './shortened-chains.ts';

const doubled = (from = made(8), to = made(8)): LaunchNote =>
  note(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));
const shorten = (notes: readonly LaunchNote[], memory: RecordedMemory): readonly LaunchNote[] =>
  shortenChains(notes, memory, plainGpu, recorderOf());

test('a launch of the longest chain works out what others need too', () => {
  const [x, a, b, c] = [made(8), made(8), made(8), made(8)];
  const shortened = shorten([doubled(x, a), doubled(a, b), doubled(a, c)], memoryOf([a]));
  // Nobody reads the first any more.
  expect(shortened.map(readBy)).toEqual([[x.storage], [x.storage]]);
});

test('a launch that somebody off the chain needs is left to that one', () => {
  const [x, a, b, c, d] = [made(8), made(8), made(8), made(8), made(8)];
  const backwards = note(nestOf('flip', [d], (axes) => [elementOf(a, axes, true)]));
  const notes = [doubled(x, a), doubled(a, b), doubled(b, c), backwards];
  const shortened = shorten(notes, memoryOf([a, b]));
  expect(shortened.map(readBy)).toEqual([[x.storage], [x.storage], [a.storage]]);
});

test('a chain stays as it is where what it reads is changed in between, or outlives it', () => {
  const [x, a, b] = [made(8), made(8), made(8)];
  const changed = [doubled(x, a), doubled(made(8), x), doubled(a, b)];
  expect(shorten(changed, memoryOf([a]))).toBe(changed);
  const overItself = [doubled(x, a), doubled(a, x)];
  expect(shorten(overItself, memoryOf([a]))).toBe(overItself);
  const outliving = [doubled(x, a), doubled(a, b)];
  expect(shorten(outliving, memoryOf([]))).toBe(outliving);
});

test('a chain stays as it is where the launch that would stay behind stores over what it read', () => {
  const [a, b, counts] = [made(8), made(8), made(8)];
  const counting = note(
    nestOf('count', [a, counts], (axes) => {
      const old = elementOf(counts, axes);
      return [binary('mul', old, constant('float', 2)), binary('add', old, constant('float', 1))];
    }),
  );
  const notes = [counting, doubled(a, b)];
  expect(shorten(notes, memoryOf([a]))).toBe(notes);
});

test('any launches come to the same', () => {
  fc.assert(
    fc.property(anyLaunches, ({ notes, tensors, temporary }) => {
      expectSame(shorten(notes, memoryOf(temporary)), notes, tensors, temporary);
    }),
    { numRuns: 1000 },
  );
});
