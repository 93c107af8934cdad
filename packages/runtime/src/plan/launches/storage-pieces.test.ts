import { OpenNumber, type Storage, type Tensor } from '@cresset/tensor';
import { binary, constant, type LoadExpr } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { elementOf, made, nestOf, note, recorderOf } from './launches-fixture.ts';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import { Regions } from './regions.ts';
import { onPieces } from './storage-pieces.ts';

const doubled = (from: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));

const [x, y] = [made(100), made(100)];
const flat = made(200);
const part = (first: number, count: number): Tensor => flat.asStrided([count], [1], first);
const [first, second, overlapping] = [part(0, 100), part(100, 100), part(50, 100)];

const piecesOf = (notes: readonly LaunchNote[]): ReadonlyMap<Storage, Tensor> => onPieces(notes, () => true).pieces;

test('tensors of one storage that have no element in common are storages by themselves', () => {
  const notes = [doubled(x, first), doubled(second, y)];
  const { launches, pieces } = onPieces(notes, () => true);
  expect([...pieces.values()].map(({ storage }) => storage)).toEqual([flat.storage, flat.storage]);
  const [one, other] = [...pieces.keys()];
  expect(launches.map(({ storages }) => storages)).toEqual([
    [x.storage, one],
    [other, y.storage],
  ]);
  // In the end it is one buffer.
  const limits = {
    capabilities: plainGpu,
    recorder: recorderOf(),
    isShared: true,
    isWide: false,
    isTemporary: () => true,
    dtypeOf: () => 'float32' as const,
  };
  const placed = new Regions(launches, pieces, limits).place(launches.map((each) => [each]))!.flat();
  expect(placed.map(({ storages }) => storages)).toEqual([
    [x.storage, flat.storage],
    [flat.storage, y.storage],
  ]);
  expect(placed.map(({ launch: { params } }) => params.map(({ value }) => value))).toEqual([[100], [100, 100]]);
});

test('tensors that overlap are one', () => {
  expect(piecesOf([doubled(x, first), doubled(second, y), doubled(overlapping, x)]).size).toBe(0);
  expect(piecesOf([doubled(x, first), doubled(overlapping, y)]).size).toBe(0);
  // Two of which one lies within gaps of the other reach the same elements as far as anybody asks.
  const [even, odd] = [flat.asStrided([50], [2], 0), flat.asStrided([50], [2], 1)];
  expect(piecesOf([doubled(even, made(50)), doubled(odd, made(50))]).size).toBe(0);
});

test('a storage stays whole where nobody knows which elements are used, or where it is none to take apart', () => {
  const notes = [doubled(x, first), doubled(second, y)];
  const opaque = { ...notes[0], launch: { ...notes[0].launch, kernel: null } };
  expect(piecesOf([...notes, opaque]).size).toBe(0);
  expect(onPieces(notes, () => false).pieces.size).toBe(0);
  const moving = part(100, 100);
  moving.openOffset = new OpenNumber(100);
  const atOpenNumber = [doubled(x, first), doubled(moving, y)];
  const [store] = atOpenNumber[1].launch.kernel!.stores;
  expect(store.value.kind === 'binary' && (store.value.x as LoadExpr).operand.tensor).toBe(moving);
  expect(piecesOf(atOpenNumber).size).toBe(0);
  // Also when the recording is over, for which the number is open.
  moving.openOffset.isClosed = true;
  expect(piecesOf(atOpenNumber).size).toBe(0);
});
