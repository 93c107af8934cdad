import { Tensor } from '@cresset/tensor';
import { accumulator, TensorView, unary, type Kernel } from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';
import { requestWithSchedules } from '../../../../test-setup/gpu-schedules.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';
import { at, laid, layouts, testProducts, worst } from './products-fixture.ts';

describe.each(['software', 'hardware', 'few threads'] as const)('products scheduled for %s', (schedules) => {
  testProducts(() => requestWithSchedules(schedules));

  let device: WebGpuDevice;
  beforeAll(async () => {
    device = await requestWithSchedules(schedules);
  });
  afterAll(() => device.dispose());

  async function run(kernel: Kernel, output: Tensor): Promise<Float32Array> {
    device.launch(kernel);
    await output.storage.toHost();
    return output.contiguousArray() as Float32Array;
  }

  test.each([...layouts.map((layout) => [layout, 0] as const), ['mk,kn', 1] as const])(
    '%s, %i elements between rows, of weights kept as float16',
    async (layout, gap) => {
      const size = 36;
      const sides = ['km', 'nk'].map((turned) => laid(1, size, size, layout.includes(turned), gap));
      const output = Tensor.empty([1, size, size], 'float32');
      const [left, right, out] = [...sides, output].map((tensor) => new TensorView(tensor));
      for (const { storage } of sides) {
        storage.narrow((elements) => {
          elements.forEach((value, index) => (elements[index] = Math.round(value * 64) / 64));
          return true;
        });
      }
      const allocations = vi.spyOn(device, 'allocate');
      const result = await run(
        batchedProduct(left, right, out, () => accumulator),
        output,
      );
      const halves = 2 * Math.ceil((size + gap) ** 2 / 2) * 2;
      expect(allocations.mock.calls.map(([bytes]) => bytes)).toEqual([halves, halves, 4 * size * size]);
      allocations.mockRestore();
      const [a, b] = sides;
      const error = worst(result, (index) => {
        let sum = 0;
        for (let step = 0; step < size; step++)
          sum += at(a, 0, Math.floor(index / size), step) * at(b, 0, step, index % size);
        return sum;
      });
      // Products of sixty-fourths are exact.
      expect(error).toBe(0);
    },
  );

  test.each([
    [3, 5, 16400],
    [20, 17, 8195],
  ])('%i by %i results over %i steps: chunks of the sum, and then all of it', async (m, n, k) => {
    const [a, b] = [laid(1, m, k, false, 0), laid(1, k, n, true, 0)];
    const output = Tensor.empty([1, m, n], 'float32');
    const [left, right, out] = [a, b, output].map((tensor) => new TensorView(tensor));
    const { dispatches, liveBytes } = device.counters;
    const product = batchedProduct(left, right, out, () => unary('neg', accumulator));
    device.launch(product);
    // A software adapter wants no more threads than there are results.
    expect(device.counters.dispatches - dispatches).toBe(schedules === 'software' ? 1 : 2);
    expect(device.counters.liveBytes - liveBytes).toBe(4 * (m * k + k * n + m * n));
    const error = worst(await run(product, output), (index) => {
      let sum = 0;
      for (let step = 0; step < k; step++) sum += at(a, 0, Math.floor(index / n), step) * at(b, 0, step, index % n);
      return -sum;
    });
    // Sums of so many terms of both signs; one that were left out would count thousands of times as much.
    expect(error).toBeLessThan(1e-3);
  });
});
