import { Tensor } from '@cresset/tensor';
import { accumulator, TensorView } from '@cresset/tensorexpr';
import { describe, expect, test } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';
import type { GpuSchedules } from '../../../../test-setup/gpu-schedules.ts';
import { requestWithCandidate } from '../../../../test-setup/nth-candidate.ts';
import { testNests } from '../kernels/nests-fixture.ts';
import { at, laid, testProducts, worst } from '../kernels/products-fixture.ts';

/** Whichever way of running a kernel turns out to be the fastest, it computes what the rule's does. */
describe.each([
  ['software', 1],
  ['software', 2],
  ['hardware', 1],
  ['hardware', 3],
  ['hardware', 4],
] as const)('schedules for %s, candidate %i', (schedules: GpuSchedules, nth) => {
  const open = () => requestWithCandidate(schedules, nth);
  testNests(open);
  // Each is a shader or two to compile.
  testProducts(open, 9);
});

test('a sum is the same in any number of chunks', async () => {
  const [m, n, k] = [3, 17, 16400];
  const [a, b] = [laid(1, m, k, false, 0), laid(1, k, n, true, 0)];
  const counts: number[] = [];
  for (const nth of [0, 1, 2, 3]) {
    const device = await requestWithCandidate('hardware', nth);
    const output = Tensor.empty([1, m, n], 'float32');
    const [left, right, out] = [a, b, output].map((tensor) => new TensorView(tensor));
    device.launch(batchedProduct(left, right, out, () => accumulator));
    counts.push(device.counters.dispatches);
    await output.storage.toHost();
    const error = worst(output.contiguousArray() as Float32Array, (index) => {
      let sum = 0;
      for (let step = 0; step < k; step++) sum += at(a, 0, Math.floor(index / n), step) * at(b, 0, step, index % n);
      return sum;
    });
    expect(error).toBeLessThan(1e-3);
    device.dispose();
  }
  // The rule cuts it; the first of the others does not.
  expect(counts).toEqual([2, 1, 2, 2]);
});
