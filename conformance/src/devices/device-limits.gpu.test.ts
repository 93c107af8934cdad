import { IntType, TensorType } from '@cresset/ir';
import { findRow, registerAllOperators, runOnDevice, runOnHost } from '@cresset/operators';
import { List, numelOf, Tensor, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedGenerator, loweringOn } from '../../../packages/operators/src/operator-fixture.ts';

/** Operators at the limits of devices, on one with no more than every WebGPU adapter has. */

let device: WebGpuDevice;
beforeAll(async () => {
  registerAllOperators();
  device = await requestWebGpuDevice({ defaultLimits: true });
});
afterAll(() => device.dispose());

let seed = 3;
function floats(...sizes: number[]): Tensor {
  const values = Float32Array.from({ length: numelOf(sizes) }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32 - 0.5;
  });
  return Tensor.fromArray(values, sizes, 'float32');
}

const ints = (...values: number[]): List => new List(IntType.get(), values.map(BigInt));
const tensors = (...values: Tensor[]): List => new List(TensorType.get(), values);
const host = { gradEnabled: false, print: () => undefined, warn: () => undefined, generator: fixedGenerator };

async function onDevice(name: string, args: readonly IValue[]): Promise<Tensor[]> {
  const [operator, overload = ''] = name.split('.');
  const results = (await runOnDevice(findRow(operator, overload)!, args, loweringOn(device))) as Tensor[];
  await Promise.all(results.map(({ storage }) => storage.toHost()));
  return results;
}

async function expectAlike(name: string, ...args: IValue[]): Promise<void> {
  const [operator, overload = ''] = name.split('.');
  const expected = runOnHost(findRow(operator, overload)!, args, host) as Tensor[];
  const got = await onDevice(name, args);
  for (const [at, result] of got.entries()) {
    expect(result.sizes).toEqual(expected[at].sizes);
    const [values, wanted] = [result, expected[at]].map((tensor) =>
      Array.from(tensor.contiguousArray() as Float32Array, Number),
    );
    const wrong = values.findIndex((value, place) => Math.abs(value - wanted[place]) > 1e-4);
    expect(wrong, `${values[wrong]} for ${wanted[wrong]}`).toBe(-1);
  }
}

it('has the guaranteed limits', () => {
  expect(device.gpuDevice.limits.maxStorageBuffersPerShaderStage).toBe(8);
  expect(device.gpuDevice.limits.maxComputeInvocationsPerWorkgroup).toBe(256);
  expect(device.gpuDevice.features.has('shader-f16')).toBe(false);
});

it('joins 64 tensors', () =>
  expectAlike('aten::cat', tensors(...Array.from({ length: 64 }, (_, at) => floats(3, (at % 3) + 1, 2))), 1n));

it('stacks 64 tensors', () =>
  expectAlike('aten::stack', tensors(...Array.from({ length: 64 }, () => floats(2, 3))), -1n));

describe('every rank', () => {
  const sizes = [2, 3, 1, 2, 3, 2, 1, 2];
  for (let rank = 0; rank <= 8; rank++) {
    const shape = sizes.slice(0, rank);
    const reversed = (): Tensor => {
      const tensor = floats(...shape.toReversed());
      return tensor.asStrided(shape, tensor.strides.toReversed());
    };
    it(`rank ${rank}`, async () => {
      await expectAlike('aten::add.Tensor', floats(...shape), reversed(), 1n);
      await expectAlike('aten::sum', reversed(), null);
      if (rank === 0) return;
      await expectAlike('aten::softmax.int', reversed(), BigInt(rank - 1), null);
      await expectAlike('aten::sum.dim_IntList', floats(...shape), rank > 1 ? ints(0, rank - 1) : ints(0), false, null);
      await expectAlike('aten::flip', reversed(), ints(0));
    });
  }
});

it.each([
  ['aten::relu', [floats(0, 5)]],
  ['aten::sum.dim_IntList', [floats(0, 5), ints(0), false, null]],
  ['aten::mm', [floats(3, 0), floats(0, 4)]],
  ['aten::mm', [floats(0, 3), floats(3, 4)]],
  ['aten::cat', [tensors(floats(0, 2), floats(3, 2)), 0n]],
  ['aten::sort', [floats(4, 0), 1n, false]],
  ['aten::cumsum', [floats(0), 0n, null]],
  ['aten::nonzero', [floats(0, 3)]],
  ['aten::index_select', [floats(4, 3), 0n, Tensor.empty([0], 'int64')]],
] as [string, IValue[]][])('no elements: %s', (name, args) => expectAlike(name, ...args));

it.each([
  ['aten::mm', [floats(97, 101), floats(101, 103)]],
  ['aten::softmax.int', [floats(101, 1009), 1n, null]],
  ['aten::sum', [floats(10007), null]],
  ['aten::conv2d', [floats(1, 5, 29, 31), floats(7, 5, 3, 3), null, ints(1, 1), ints(1, 1), ints(1, 1), 1n]],
  ['aten::sort', [floats(2, 1531), 1n, false]],
  ['aten::cumsum', [floats(3, 1013), 1n, null]],
] as [string, IValue[]][])('prime sizes: %s', (name, args) => expectAlike(name, ...args));

it('more points than one dimension of the grid has workgroups for', async () => {
  const values = floats(1, 1).asStrided([5_000_011], [0]);
  const [sum] = await onDevice('aten::add.Scalar', [values, 1, 1n]);
  const array = sum.contiguousArray() as Float32Array;
  const [expected] = values.contiguousArray() as Float32Array;
  expect(array[0]).toBeCloseTo(expected + 1);
  expect(array.at(-1)).toBeCloseTo(expected + 1);
});

describe('neither scalars nor sizes make shaders', () => {
  const shadersOf = async (...runs: (() => Promise<unknown>)[]): Promise<number[]> => {
    const counts: number[] = [];
    for (const run of runs) {
      const before = device.counters.shaders;
      await run();
      counts.push(device.counters.shaders - before);
    }
    return counts;
  };
  const unseen = (name: string, ...variants: (() => IValue[])[]) =>
    it(name, async () => {
      const [, ...later] = await shadersOf(...variants.map((args) => () => onDevice(name, args())));
      expect(later).toEqual(later.map(() => 0));
    });
  unseen(
    'aten::mul.Scalar',
    () => [floats(300), 2],
    () => [floats(17, 5), 3],
    () => [floats(2, 3, 4), -1.5],
  );
  unseen(
    'aten::leaky_relu',
    () => [floats(20), 0.1],
    () => [floats(5, 6, 7), 0.3],
  );
  unseen(
    'aten::softmax.int',
    () => [floats(30, 41), 1n, null],
    () => [floats(20, 43), 1n, null],
  );
  unseen(
    'aten::mm',
    () => [floats(33, 34), floats(34, 35)],
    () => [floats(40, 37), floats(37, 50)],
  );
  unseen(
    'aten::cumsum',
    () => [floats(3, 20), 1n, null],
    () => [floats(5, 31), 1n, null],
  );
  unseen(
    'aten::sort',
    () => [floats(2, 1100), 1n, false],
    () => [floats(3, 1500), 1n, false],
  );
  unseen(
    'aten::nonzero',
    () => [floats(100, 7)],
    () => [floats(120, 9)],
  );
  unseen(
    'aten::uniform',
    () => [floats(30), 0, 1, null],
    () => [floats(60), -3, 5, null],
  );
});
