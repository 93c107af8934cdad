import type { Tensor } from '@cresset/tensor';
import { binary, constant, type LaunchRecorder } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { arrangeLaunches, type ArrangedLaunches } from './arranged-launches.ts';
import { elementOf, made, memoryOf, nestOf, note, recorderOf, storedBy } from './launches-fixture.ts';
import { Regions } from './regions.ts';

const doubled = (from: Tensor, ...to: Tensor[]): LaunchNote =>
  note(nestOf('mul', to, (axes) => to.map(() => binary('mul', elementOf(from, axes), constant('float', 2)))));
const sum = (a: Tensor, b: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes), elementOf(b, axes))]));

interface Settings {
  readonly joinedNodes?: number;
  readonly recorder?: LaunchRecorder;
  readonly buffers?: number;
  readonly prepares?: readonly LaunchNote[];
}

/** Arranges launches, those that are prepared in the way in which they are fused. */
function arrange(
  notes: readonly LaunchNote[],
  temporary: readonly Tensor[],
  { joinedNodes = 0, buffers = Infinity, recorder = recorderOf(buffers), prepares = [] }: Settings = {},
): ArrangedLaunches | null {
  const memory = memoryOf(temporary);
  const capabilities = { ...plainGpu, maxStorageBuffers: buffers };
  const dtypeOf = (): 'float32' => 'float32';
  const regions = new Regions(notes, new Map(), {
    capabilities,
    recorder,
    isShared: true,
    isWide: joinedNodes > 0,
    isTemporary: (storage) => memory.isTemporary(storage),
    dtypeOf,
  });
  for (const { launch } of prepares) expect(regions.prepare(launch.kernel!)).not.toBeNull();
  return arrangeLaunches(notes, { capabilities, recorder, regions, joinedNodes, memory, dtypeOf });
}

test('launches stay what they are where nothing is gained', () => {
  const [x, a, out] = [made(8), made(8), made(8)];
  const notes = [doubled(x, a), sum(a, x, out)];
  const { launches, homeOf } = arrange(notes, [a])!;
  expect(launches).toEqual(notes);
  expect(homeOf(a.storage)).toBe(a.storage);
});

test('large values lie where operands of theirs lay', () => {
  const large = (): Tensor => made(1 << 16);
  const [x, a, b, c, d, out] = Array.from({ length: 6 }, large);
  const notes = [doubled(x, a), doubled(x, b), sum(a, b, c), doubled(x, d), sum(c, d, out)];
  const { homeOf } = arrange(notes, [a, b, c, d])!;
  expect([a, b].map(({ storage }) => storage)).toContain(homeOf(c.storage));
});

test('launches that wait for nothing of each other are one in steps of training', () => {
  const [x, y, a, b] = [made(8), made(8), made(8), made(8)];
  const { launches } = arrange([doubled(x, a), doubled(y, b)], [], { joinedNodes: 400 })!;
  expect(launches.map(storedBy)).toEqual([[a.storage, b.storage]]);
  expect(arrange([doubled(x, a), doubled(a, b)], [], { joinedNodes: 400 })!.launches).toHaveLength(2);
});

test('results of a launch that binds too many lie in one buffer; null where that cannot be had after all', () => {
  const [x, a, b, c, out] = [made(8), made(8), made(8), made(8), made(8)];
  const notes = [doubled(x, a, b, c), sum(a, b, out)];
  const settings: Settings = { buffers: 3, prepares: [notes[0]] };
  const { launches } = arrange(notes, [a, b, c], settings)!;
  const [home] = storedBy(launches[0]);
  expect(launches.map(({ storages }) => storages)).toEqual([
    [x.storage, home],
    [home, out.storage],
  ]);
  let asked = 0;
  const { prepare } = recorderOf(3);
  // The first two times it is asked whether the launch can be bound at all.
  const recorder = { prepare: (kernel) => (asked++ < 2 ? prepare(kernel) : null) } as LaunchRecorder;
  expect(arrange(notes, [a, b, c], { ...settings, recorder })).toBeNull();
});
