import { Tensor, type DeviceBuffer } from '@cresset/tensor';
import { TensorView, unary, type CommandList, type Kernel } from '@cresset/tensorexpr';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NullGpu } from '../../../../test-setup/null-gpu.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';
import { SPAN_MILLISECONDS } from './idle-memory.ts';

const MEGABYTE = 2 ** 20;

let gpu: NullGpu;
let device: WebGpuDevice;
beforeEach(() => {
  vi.useFakeTimers();
  gpu = new NullGpu();
  device = gpu.open();
});
afterEach(() => {
  device.dispose();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  expect(gpu.misuses).toBe(0);
});

const numbers = (): Tensor => Tensor.fromArray(Float32Array.of(1, 2, 3, 4), [4], 'float32');

function tanh(x: Tensor, out: Tensor): Kernel {
  const [from, to] = [x, out].map((tensor) => new TensorView(tensor));
  const axes = to.axes();
  const stores = [{ operand: to.operand, offset: to.offsetAt(axes), value: unary('tanh', from.at(axes)) }];
  return { kind: 'nest', label: 'test::tanh', axes, innerAxes: [], stores };
}

/** So many small launches, each from a scratch buffer to the next one. */
function listOf(launches: number, ...scratch: number[]): CommandList {
  const recorder = device.recorder!;
  const launch = recorder.prepare(tanh(numbers(), numbers()))!;
  const places = (at: number): number[] => [at % scratch.length, (at + 1) % scratch.length];
  return recorder.record(
    Array.from({ length: launches }, (_, at) => ({ launch, places: places(at) })),
    0,
    scratch,
  );
}

/** Buffers that replays made, each submitted by itself. */
async function madeBy(...lists: readonly CommandList[]): Promise<number> {
  const before = gpu.calls.buffers;
  for (const list of lists) {
    device.recorder!.replay(list, [], []);
    await device.flush();
  }
  return gpu.calls.buffers - before;
}

test.each([80, 96, 300])('a replay makes no buffers once it has them: 3 of %i MB', async (megabytes) => {
  const size = megabytes * MEGABYTE;
  const list = listOf(20, size, size, size);
  await madeBy(list);
  expect(await madeBy(list, list, list)).toBe(0);
});

test('a replay that is submitted in several pieces keeps its scratch throughout', async () => {
  const size = 110 * MEGABYTE;
  const list = listOf(1300, size, size, size);
  await madeBy(list);
  expect(await madeBy(list, list)).toBe(0);
  expect(gpu.calls.submits).toBeGreaterThanOrEqual(9);
});

test('lists share what they can, and take nothing from each other', async () => {
  const [first, second] = [192 * MEGABYTE, 512 * MEGABYTE];
  const lists = [listOf(3, first, first), listOf(3, first, first, second), listOf(3, second)];
  await madeBy(...lists);
  expect(await madeBy(...lists, ...lists)).toBe(0);
  expect(device.recorder!.scratch.byteLength).toBe(2 * first + second);
});

test('what no list has any more is free, and goes back when memory is trimmed', async () => {
  const [size, other] = [192 * MEGABYTE, 320 * MEGABYTE];
  const [kept, forgotten] = [listOf(3, size, size), listOf(3, size, other)];
  await madeBy(kept, forgotten);
  device.recorder!.forget(forgotten);
  expect(device.recorder!.scratch.byteLength).toBe(2 * size);
  expect(await madeBy(kept)).toBe(0);
  device.recorder!.forget(kept);
  expect(device.recorder!.scratch.byteLength).toBe(0);
  device.trim();
  expect(device.memory().pooled).toBe(0);
});

test('what work waits for is not trimmed', async () => {
  const list = listOf(3, MEGABYTE, MEGABYTE);
  await madeBy(list);
  device.recorder!.replay(list, [], []);
  device.trim();
  expect(device.recorder!.scratch.byteLength).toBe(2 * MEGABYTE);
  await device.flush();
  device.trim();
  expect(device.memory().pooled).toBe(0);
  // The list asks anew.
  expect(await madeBy(list)).toBe(2);
});

test('what nobody used for some time goes back, and then nothing waits any more', async () => {
  const [often, once] = [listOf(3, MEGABYTE, MEGABYTE), listOf(3, 8 * MEGABYTE)];
  await madeBy(often, once);
  for (let span = 0; span < 3; span++) {
    vi.advanceTimersByTime(SPAN_MILLISECONDS);
    expect(await madeBy(often)).toBe(0);
  }
  expect(device.recorder!.scratch.byteLength).toBe(2 * MEGABYTE);
  vi.advanceTimersByTime(2 * SPAN_MILLISECONDS);
  expect(device.memory().pooled).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  expect(await madeBy(often, once)).toBe(3);
});

/** Takes buffers, has them written and gives them up: what a run does that is not recorded. */
async function work(...bytes: readonly number[]): Promise<number> {
  const before = gpu.calls.buffers;
  const buffers = bytes.map((size): DeviceBuffer => device.allocate(size));
  for (const buffer of buffers) device.upload(buffer, 'float32', new Uint8Array(16));
  await device.flush();
  for (const buffer of buffers) device.release(buffer);
  await device.download(device.allocate(16), 'float32', 4);
  return gpu.calls.buffers - before;
}

test('the pool keeps what a run takes again, and no more than runs took at one time', async () => {
  const size = 128 * MEGABYTE;
  await work(size, size, size, size);
  expect(await work(size, size, size, size)).toBeLessThan(4);
  for (let call = 1; call < 20; call++) await work((128 + 32 * (call % 8)) * MEGABYTE, size);
  expect(device.memory().pooled).toBeLessThan(4.5 * size);
  vi.advanceTimersByTime(3 * SPAN_MILLISECONDS);
  expect(device.memory().pooled).toBe(0);
});
