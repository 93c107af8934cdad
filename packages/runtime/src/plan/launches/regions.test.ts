import type { Tensor } from '@cresset/tensor';
import { binary, TensorView, type Kernel, type LoopNest } from '@cresset/tensorexpr';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import { expect, test } from 'vitest';
import { noteOf, type LaunchNote } from '../recording/recording-notes.ts';
import { made, note, recorderOf } from './launches-fixture.ts';
import { Regions, type RegionLimits } from './regions.ts';

/** Of a GPU that binds four buffers. */
const recorder = recorderOf(4);

/** Stores the sum of some tensors to others, of the same sizes. */
function sum(from: readonly Tensor[], to: readonly Tensor[]): LoopNest {
  const views = to.map((tensor) => new TensorView(tensor));
  const axes = views[0].axes();
  const value = from
    .map((tensor) => new TensorView(tensor).at(axes))
    .reduce((a, b) => ({ ...binary('add', a, b) }) as typeof a);
  const stores = views.map((view) => ({ operand: view.operand, offset: view.offsetAt(axes), value }));
  return { kind: 'nest', label: 'sum', axes, innerAxes: [], stores };
}

const limits: RegionLimits = {
  capabilities: { ...plainGpu, maxStorageBuffers: 4 },
  recorder,
  isShared: true,
  isWide: false,
  isTemporary: () => true,
  dtypeOf: () => 'float32',
};
const regionsOf = (notes: readonly LaunchNote[], others: Partial<RegionLimits> = {}): Regions =>
  new Regions(notes, new Map(), { ...limits, ...others });

const [x, y] = [made(100), made(100)];
const results = (): Tensor[] => [made(100), made(100), made(100)];

test('results of a launch that has more than can be bound lie in one buffer, which whoever reads them binds once', () => {
  const [a, b, c] = results();
  const out = made(100);
  const first = sum([x, y], [a, b, c]);
  const regions = regionsOf([note(first)]);
  const launch = regions.prepare(first)!;
  // Whoever looks at launches sees the storages.
  expect(new Set(noteOf(launch).storages)).toEqual(new Set([x, y, a, b, c].map(({ storage }) => storage)));
  const reader = note(sum([a, b, c], [out]));
  const [[one], [other]] = regions.place([[noteOf(launch)], [reader]])!;
  const [home] = regions.homes.keys();
  expect(one.storages).toEqual([x.storage, y.storage, home]);
  expect(other.storages).toEqual([home, out.storage]);
  // Each begins at a multiple of 64 elements.
  expect(home.byteLength).toBe(4 * 3 * 128);
  const begins = (kernel: Kernel): unknown[] =>
    kernel.stores.map(({ offset }) => (offset.kind === 'binary' && offset.x.kind === 'param' ? offset.x.value : 0));
  expect(begins(one.launch.kernel!)).toEqual([0, 128, 256]);
});

test('what does not live at a time lies at one place of the buffer', () => {
  const [first, second, third] = [results(), results(), results()];
  const regions = regionsOf([], {
    isWide: true,
    isTemporary: (storage) => storage !== x.storage && storage !== y.storage,
  });
  const kernels = [sum([x, y], first), sum([...first, x], second), sum([...second, x], third), sum(third, [y])];
  const notes = kernels.map((kernel) => noteOf(regions.prepare(kernel)!));
  const placed = regions.place(notes.map((each) => [each]))!;
  const [home, ...others] = regions.homes.keys();
  expect(others).toEqual([]);
  // Nine, of which six live at a time.
  expect(home.byteLength).toBe(4 * 6 * 128);
  expect(placed.map(([{ storages }]) => storages)).toEqual([
    [x.storage, y.storage, home],
    [home, x.storage],
    [home, x.storage],
    [home, y.storage],
  ]);
});

test('nothing shares a buffer that outlives the recording, or that a launch without a kernel uses', () => {
  const first = sum([x, y], results());
  expect(regionsOf([], { isTemporary: () => false }).prepare(first)).toBeNull();
  expect(regionsOf([], { isShared: false }).prepare(first)).toBeNull();
  const opaque: LaunchNote = { ...note(first), launch: { ...note(first).launch, kernel: null } };
  expect(regionsOf([opaque]).prepare(first)).toBeNull();
  const [a, b, c] = results();
  const combined = sum([x], [a]);
  const adds = { ...combined, stores: combined.stores.map((store) => ({ ...store, combine: 'sum' as const })) };
  // Two of three are too few.
  expect(regionsOf([note(adds)], {}).prepare(sum([x, y, made(100)], [a, b, c]))).toBeNull();
});
