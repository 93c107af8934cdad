import { Tensor } from '@cresset/tensor';
import { binary, constant, TensorView, type Kernel } from '@cresset/tensorexpr';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestWebGpuDevice } from '../request-device.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';

let device: WebGpuDevice;
beforeAll(async () => {
  device = await requestWebGpuDevice();
});
afterAll(() => device.dispose());

/** x = x + 1 */
function increment(x: Tensor): Kernel {
  const view = new TensorView(x);
  const axes = view.axes();
  const value = binary('add', view.at(axes), constant('float', 1));
  const store = { operand: view.operand, offset: view.offsetAt(axes), value };
  return { kind: 'nest', label: 'test::increment', axes, innerAxes: [], stores: [store] };
}

test('every dispatch of a profiled stretch is told with its shader and its time', async () => {
  const x = Tensor.fromArray(Float32Array.of(1, 2), [2], 'float32');
  const profiler = await device.profiler();
  device.launch(increment(x));
  await profiler.start(true);
  const kernels = [increment(x), increment(x)];
  for (const kernel of kernels) device.launch(kernel);
  const work = await profiler.stop();

  expect(work.launched).toEqual(kernels.map((kernel, first) => ({ kernel, first })));
  expect(work.dispatches).toMatchObject([{ label: 'test::increment' }, { label: 'test::increment' }]);
  const [first, second] = work.dispatches;
  expect(first.code).toContain('@compute');
  expect(first.schedules).toMatchObject([{ kind: 'point', workgroupSize: 8, pointsPerThread: 1 }]);
  if (device.gpuDevice.features.has('timestamp-query')) {
    // Browsers tell time in steps that are longer than this.
    expect(first.end).toBeGreaterThanOrEqual(first.begin!);
    expect(second.begin).toBeGreaterThanOrEqual(first.end!);
  }
  expect(work.batches).toHaveLength(1);
  expect(work.batches[0].encoded).toBeGreaterThanOrEqual(work.batches[0].start);
  await x.storage.toHost();
  expect([...(x.contiguousArray() as Float32Array)]).toEqual([4, 5]);
  x.dispose();
});

test('nothing is noted once the profile is done, and without kernels no dispatch is', async () => {
  const x = Tensor.fromArray(Float32Array.of(1), [1], 'float32');
  const profiler = await device.profiler();
  await profiler.start(false);
  device.launch(increment(x));
  const work = await profiler.stop();
  expect(work.dispatches).toEqual([]);
  expect(work.batches).toHaveLength(1);
  device.launch(increment(x));
  await device.flush();
  expect(work.batches).toHaveLength(1);
  expect(device.probe).toBeNull();
  x.dispose();
});

test('a peak is what the adapter does in a second, and is measured once', async () => {
  const profiler = await device.profiler();
  const peak = await profiler.peak();
  const { dispatches } = device.counters;
  if (device.gpuDevice.features.has('timestamp-query')) {
    // A megabyte a second is less than any adapter does, and an exabyte more.
    for (const rate of [peak!.bytesPerSecond, peak!.operationsPerSecond]) {
      expect(rate).toBeGreaterThan(2 ** 20);
      expect(rate).toBeLessThan(2 ** 60);
    }
  } else expect(peak).toBeNull();
  expect(await profiler.peak()).toBe(peak);
  expect(device.counters.dispatches).toBe(dispatches);
});
