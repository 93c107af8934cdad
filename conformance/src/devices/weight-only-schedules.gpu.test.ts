import { findRow, registerAllOperators, runOnDevice, runOnHost } from '@cresset/operators';
import { PhiloxGenerator } from '@cresset/runtime';
import { numelOf, Tensor, type ScalarType } from '@cresset/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loweringOn } from '../../../packages/operators/src/operator-fixture.ts';
import { gpuSchedules, requestWithSchedules, type GpuSchedules } from '../../../test-setup/gpu-schedules.ts';
import type { WebGpuDevice } from '@cresset/webgpu';

/** Short binary fractions: sums of products are exact, whatever the order. */
const fractions = (...sizes: number[]): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: numelOf(sizes) }, (_, at) => (((at * 37) % 17) - 8) / 8),
    sizes,
    'float32',
  );

/** Bytes as a program comes with them: four to a word on the device. */
function bytes(dtype: ScalarType & ('uint8' | 'int8'), ...sizes: number[]): Tensor {
  const values = Uint8Array.from({ length: numelOf(sizes) }, (_, at) => (at * 151) % 256);
  const tensor = Tensor.fromArray(dtype === 'uint8' ? values : new Int8Array(values.buffer), sizes, dtype);
  return tensor;
}

/** A zero's sign goes by the order in which a sum was multiplied with its scale. */
const numbersOf = (tensor: Tensor): number[] =>
  Array.from(tensor.contiguousArray() as Float32Array, (value) => value + 0);

describe.each(Object.keys(gpuSchedules) as GpuSchedules[])('weights of few bits, scheduled for %s', (schedules) => {
  let device: WebGpuDevice;
  beforeAll(async () => {
    registerAllOperators();
    device = await requestWithSchedules(schedules);
  });
  afterAll(() => device.dispose());

  it.each([
    [1, 128, 128, 32],
    [5, 80, 64, 32],
    [20, 144, 320, 64],
    [130, 192, 1056, 32],
  ])('%i rows with %i of %i', async (m, n, k, group) => {
    for (const [name, args] of [
      ['_weight_int4pack_mm_for_cpu', [bytes('uint8', n, k / 2), BigInt(group), fractions(k / group, n, 2)]],
      ['_weight_int8pack_mm', [bytes('int8', n, k), fractions(n)]],
    ] as const) {
      const row = findRow(`aten::${name}`, '')!;
      const host = { gradEnabled: false, print: () => {}, warn: () => {}, generator: new PhiloxGenerator() };
      const given = [fractions(m, k), ...args];
      const [expected] = runOnHost(row, given, host) as Tensor[];
      const [result] = (await runOnDevice(row, given, loweringOn(device))) as Tensor[];
      await result.storage.toHost();
      expect(numbersOf(result)).toEqual(numbersOf(expected));
    }
  });
});
