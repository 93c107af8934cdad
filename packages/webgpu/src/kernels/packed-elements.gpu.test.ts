import {
  elementSize,
  hostArray,
  isFloatingPoint,
  numberToBfloat,
  numberToHalf,
  Storage,
  Tensor,
} from '@cresset/tensor';
import { accumulator, cast, TensorView, type Kernel } from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';
import { gpuSchedules, requestWithSchedules, type GpuSchedules } from '../../../../test-setup/gpu-schedules.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';

const dtypes = ['bool', 'uint8', 'int8', 'int16', 'float16', 'bfloat16'] as const;
type Packed = (typeof dtypes)[number];

/** Numbers that each dtype has, of both signs and as far as it reaches where it is an integer. */
function value(dtype: Packed, at: number): number {
  const turned = (at * 37) % 256;
  if (dtype === 'bool') return turned % 3 === 0 ? 1 : 0;
  if (dtype === 'uint8') return turned;
  if (dtype === 'int8') return turned - 128;
  return dtype === 'int16' ? (turned - 128) * 256 + (at % 3) : (turned - 128) / 64;
}

/** A packed tensor over `count` elements. */
function packed(dtype: Packed, count: number): { storage: Storage; values: number[] } {
  const values = Array.from({ length: count }, (_, at) => value(dtype, at));
  const bytes = new ArrayBuffer(count * elementSize(dtype));
  const elements = hostArray(dtype, bytes, 0, count) as Uint8Array;
  const toBits = dtype === 'float16' ? numberToHalf : numberToBfloat;
  elements.set(isFloatingPoint(dtype) ? values.map(toBits) : values);
  const storage = Storage.onHost(bytes);
  return { storage, values };
}

describe.each(Object.keys(gpuSchedules) as GpuSchedules[])('packed elements, scheduled for %s', (schedules) => {
  let device: WebGpuDevice;
  beforeAll(async () => {
    device = await requestWithSchedules(schedules);
  });
  afterAll(() => device.dispose());

  async function run(kernel: Kernel, output: Tensor): Promise<number[]> {
    device.launch(kernel);
    await output.storage.toHost();
    return Array.from(output.contiguousArray() as Float32Array);
  }

  test.each(dtypes)(
    '%s is read as it is, wherever it lies, from as many bytes as it has on the host',
    async (dtype) => {
      for (const [count, sizes, strides, offset] of [
        [1, [1], [1], 0],
        [7, [7], [1], 0],
        [23, [3, 5], [7, 1], 2],
        [40, [5, 3], [1, 11], 1],
        [64, [8, 8], [8, 1], 0],
        [13, [2, 6], [0, 2], 1],
      ] as const) {
        const { storage, values } = packed(dtype, count);
        const input = new Tensor(storage, dtype, sizes, strides, offset);
        const output = Tensor.empty([...sizes], 'float32');
        const [from, to] = [new TensorView(input), new TensorView(output)];
        const axes = to.axes();
        const store = { operand: to.operand, offset: to.offsetAt(axes), value: cast('float', from.at(axes)) };
        const allocations = vi.spyOn(device, 'allocate');
        const result = await run({ kind: 'nest', label: 'read', axes, innerAxes: [], stores: [store] }, output);
        const bytes = Math.ceil((count * elementSize(dtype)) / 4) * 4;
        expect(allocations.mock.calls.map(([length]) => length)).toEqual([bytes, 4 * output.numel]);
        allocations.mockRestore();
        const inner = sizes.length === 1 ? 1 : sizes[1];
        const wanted = result.map((_, at) =>
          sizes.length === 1
            ? values[offset + at * strides[0]]
            : values[offset + Math.floor(at / inner) * strides[0] + (at % inner) * strides[1]!],
        );
        expect(result).toEqual(wanted);
        storage.giveUpHostBytes();
        await storage.toHost();
        const again = new Tensor(storage, dtype, [count], [1]);
        expect([...(again.contiguousArray() as Uint8Array)]).toEqual([...(packedArray(dtype, values) as Uint8Array)]);
      }
    },
  );

  // Four elements come at once where rows begin with words.
  test.each([
    ['int8', [9, 68, 33, 1], true],
    ['float16', [36, 36, 36, 0], true],
    ['bfloat16', [36, 36, 36, 0], false],
    ['bfloat16', [1, 260, 64, 3], true],
  ] as const)('a product of %s, %j', async (dtype, [m, n, k, gap], isTurned) => {
    const width = (isTurned ? k : n) + gap;
    const { storage, values } = packed(dtype, (isTurned ? n : k) * width + gap);
    const weight = new Tensor(storage, dtype, [1, k, n], [0, ...(isTurned ? [1, width] : [width, 1])], gap);
    const input = Tensor.fromArray(
      Float32Array.from({ length: m * k }, (_, at) => (((at * 29) % 64) - 32) / 32),
      [1, m, k],
      'float32',
    );
    const output = Tensor.empty([1, m, n], 'float32');
    const [left, right, out] = [input, weight, output].map((tensor) => new TensorView(tensor));
    const product = batchedProduct(left, right, out, () => accumulator);
    const result = await run({ ...product, right: cast('float', product.right) }, output);
    const elements = input.contiguousArray() as Float32Array;
    const [row, column] = isTurned ? [1, width] : [width, 1];
    result.forEach((actual, at) => {
      const [i, j] = [Math.floor(at / n), at % n];
      let sum = 0;
      for (let step = 0; step < k; step++) sum += elements[i * k + step] * values[gap + step * row + j * column];
      // Sums of such factors are exact in float32.
      expect(actual).toBe(sum);
    });
  });
});

function packedArray(dtype: Packed, values: readonly number[]): ArrayLike<number> {
  const bytes = new ArrayBuffer(values.length * elementSize(dtype));
  const elements = hostArray(dtype, bytes, 0, values.length) as Uint8Array;
  const toBits = dtype === 'float16' ? numberToHalf : numberToBfloat;
  elements.set(isFloatingPoint(dtype) ? values.map(toBits) : values);
  return elements;
}
