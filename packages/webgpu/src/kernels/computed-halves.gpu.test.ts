import { halfToNumber, numberToHalf, Storage, Tensor } from '@cresset/tensor';
import { accumulator, axis, binary, cast, constant, TensorView, unary, type Kernel } from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';
import { gpuSchedules, requestWithSchedules, type GpuSchedules } from '../../../../test-setup/gpu-schedules.ts';
import { WebGpuDevice } from '../webgpu-device.ts';

const rounded = (value: number): number => halfToNumber(numberToHalf(Math.fround(value)));

// Ties to either side, numbers below the least normal one, the largest one and those that are beyond it.
const corners = [0, -0, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 2 ** -24, 2 ** -25, 3 * 2 ** -26, 1e-5, -6.1e-5, 65504, 65519];
const beyond = [65520, -1e6, Infinity, -Infinity, NaN];

/** A tensor of float16 that the device is about to write. */
const halves = (device: WebGpuDevice, sizes: readonly number[], strides: readonly number[], offset = 0): Tensor => {
  const count = 1 + offset + sizes.reduce((last, size, dim) => last + (size - 1) * strides[dim], 0);
  return new Tensor(Storage.onDevice(device, 'float16', count), 'float16', sizes, strides, offset);
};

const numbers = async ({ storage }: Tensor): Promise<number[]> => {
  await storage.toHost();
  return Array.from(storage.hostArray('float16') as Uint16Array, halfToNumber);
};

/** Puts elements into it on the host. */
async function fill(tensor: Tensor, value: (at: number) => number): Promise<number> {
  await tensor.storage.toHost();
  const bits = tensor.storage.hostArrayForWriting('float16') as Uint16Array;
  for (let at = 0; at < bits.length; at++) bits[at] = numberToHalf(value(at));
  return bits.length;
}

const floats = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');

describe.each(
  (Object.keys(gpuSchedules) as GpuSchedules[]).flatMap((schedules) =>
    [true, false].map((f16) => ({ schedules, f16 })),
  ),
)('float16 that kernels store, scheduled for $schedules, with shader-f16 where the adapter has it: $f16', (lane) => {
  let device: WebGpuDevice;
  beforeAll(async () => {
    const { gpuDevice, capabilities, description } = await requestWithSchedules(lane.schedules);
    device = new WebGpuDevice(gpuDevice, description, { ...capabilities, f16: lane.f16 && capabilities.f16 }, true);
  });
  afterAll(() => device.dispose());

  /** Stores `fn` of each element of x. */
  function map(fn: 'neg' | 'abs', x: Tensor, output: Tensor): Kernel {
    const [from, to] = [x, output].map((tensor) => new TensorView(tensor));
    const axes = to.axes();
    const value = unary(fn, cast('float', from.at(axes)));
    return {
      kind: 'nest',
      label: fn,
      axes,
      innerAxes: [],
      stores: [{ operand: to.operand, offset: to.offsetAt(axes), value }],
    };
  }

  test('takes as many bytes as on the host, and is rounded as PyTorch rounds', async () => {
    const values = [...corners, ...beyond];
    const before = device.counters.liveBytes;
    const output = halves(device, [values.length], [1]);
    expect(device.counters.liveBytes - before).toBe(4 * Math.ceil(values.length / 2));
    device.launch(map('neg', floats(...values), output));
    const wanted = values.map((value) => -rounded(value));
    expect(await numbers(output)).toEqual(wanted);
    // And goes on to another kernel, and comes back up from the host.
    const again = halves(device, [values.length], [1]);
    device.launch(map('abs', output, again));
    expect(await numbers(again)).toEqual(wanted.map(Math.abs));
    again.storage.hostArrayForWriting('float16');
    device.launch(map('neg', again, output));
    expect(await numbers(output)).toEqual(wanted.map((value) => -Math.abs(value)));
  });

  test('lies beside what other threads store, wherever it begins', async () => {
    for (const [sizes, strides, offset] of [
      [[7], [1], 1],
      [[5, 3], [1, 7], 3],
      [[33, 9], [9, 1], 0],
    ] as const) {
      const [x, output] = [halves(device, sizes, strides, offset), halves(device, sizes, strides, offset)];
      await fill(x, (at) => at / 8);
      const length = await fill(output, () => 100);
      device.launch(map('neg', x, output));
      const wanted = Array<number>(length).fill(100);
      for (let i = 0; i < sizes[0]; i++) {
        for (let j = 0; j < (sizes[1] ?? 1); j++) {
          const at = offset + i * strides[0] + j * (strides[1] ?? 0);
          wanted[at] = -at / 8;
        }
      }
      expect(await numbers(output)).toEqual(wanted);
    }
  });

  test.each([
    [9, 65, 33],
    [64, 64, 64],
    [1, 260, 128],
  ])('is what products are made of and come to: %i times %i over %i', async (m, n, k) => {
    const [left, right] = [
      [1, m, k],
      [1, k, n],
    ].map((sizes, side) => {
      const tensor = halves(device, sizes, [sizes[1] * sizes[2], sizes[2], 1]);
      const values = Float32Array.from({ length: tensor.numel }, (_, at) => (((at * (29 + side)) % 32) - 16) / 16);
      const source = Tensor.fromArray(values, sizes, 'float32');
      device.launch(map('neg', source, tensor));
      return { tensor, values: values.map((value) => -value) };
    });
    const output = halves(device, [1, m, n], [m * n, n, 1]);
    const views = [left.tensor, right.tensor, output].map((tensor) => new TensorView(tensor));
    const product = batchedProduct(views[0], views[1], views[2], () => accumulator);
    device.launch({ ...product, left: cast('float', product.left), right: cast('float', product.right) });
    (await numbers(output)).forEach((actual, at) => {
      const [i, j] = [Math.floor(at / n), at % n];
      let sum = 0;
      // Exact in float32, whatever the order.
      for (let step = 0; step < k; step++) sum += left.values[i * k + step] * right.values[step * n + j];
      expect(actual).toBe(rounded(sum));
    });
  });

  test.each(['sum', 'max'] as const)('is combined by threads that share a word: %s', async (combine) => {
    const [places, each] = [5, 40];
    const output = halves(device, [places], [1]);
    await fill(output, () => -2);
    const x = floats(...Array.from({ length: places * each }, (_, at) => ((at * 7) % 16) / 4));
    const [from, to] = [x, output].map((tensor) => new TensorView(tensor));
    const point = axis('point', from.sizes[0]);
    const offset = binary('remainder', point, constant('i32', places));
    const store = { operand: to.operand, offset, value: cast('float', from.at([point])), combine };
    device.launch({ kind: 'nest', label: combine, axes: [point], innerAxes: [], stores: [store] });
    const wanted = Array<number>(places).fill(-2);
    (x.contiguousArray() as Float32Array).forEach((value, at) => {
      const place = at % places;
      wanted[place] = combine === 'sum' ? wanted[place] + value : Math.max(wanted[place], value);
    });
    expect(await numbers(output)).toEqual(wanted);
  });
});
