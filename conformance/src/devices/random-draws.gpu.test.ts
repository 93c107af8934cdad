import { findRow, registerAllOperators, runOnDevice, runOnHost } from '@cresset/operators';
import { PhiloxGenerator } from '@cresset/runtime';
import { List, numelOf, Tensor, type IValue } from '@cresset/tensor';
import { IntType } from '@cresset/ir';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loweringOn } from '../../../packages/operators/src/operator-fixture.ts';

/** Random operators draw the same numbers on a device as on the host. */

let device: WebGpuDevice;
beforeAll(async () => {
  registerAllOperators();
  device = await requestWebGpuDevice();
});
afterAll(() => device.dispose());

const size = (...values: number[]): List => new List(IntType.get(), values.map(BigInt));
const nothing = [null, null, null, null];
const values = (...sizes: number[]): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: numelOf(sizes) }, (_, at) => (at % 17) / 17),
    sizes,
    'float32',
  );

const examples: readonly [name: string, args: () => IValue[]][] = [
  ['aten::rand', () => [size(3, 5, 7), ...nothing]],
  ['aten::randn', () => [size(33), ...nothing]],
  ['aten::randint', () => [1000n, size(41), ...nothing]],
  ['aten::randint.low', () => [-5n, 2n ** 40n, size(41), ...nothing]],
  ['aten::randperm', () => [3000n, ...nothing]],
  ['aten::bernoulli', () => [values(10, 10), null]],
  ['aten::bernoulli_.float', () => [values(10, 10), 0.3, null]],
  ['aten::normal_', () => [values(6, 7).asStrided([7, 6], [1, 7]), 1, 2, null]],
  ['aten::uniform_', () => [values(64), -1, 3, null]],
  ['aten::exponential', () => [values(64), 2, null]],
  ['aten::geometric', () => [values(64), 0.2, null]],
  ['aten::log_normal', () => [values(64), 0, 0.5, null]],
  ['aten::dropout', () => [values(40, 30), 0.4, true]],
  ['aten::feature_dropout', () => [values(4, 8, 3, 3), 0.5, true]],
  ['aten::alpha_dropout', () => [values(64), 0.5, true]],
  ['aten::native_dropout', () => [values(64), 0.25, true]],
];

describe('the same draws on both', () => {
  it.each(examples)('%s', async (name, make) => {
    const [operator, overload = ''] = name.split('.');
    const row = findRow(operator, overload)!;
    const host = { gradEnabled: false, print: () => undefined, warn: () => undefined };
    const expected = runOnHost(row, make(), { ...host, generator: new PhiloxGenerator(11n) });
    const context = { ...loweringOn(device), generator: new PhiloxGenerator(11n) };
    const got = await runOnDevice(row, make(), context);
    expect(got.length).toBe(expected.length);
    for (const [at, result] of got.entries()) {
      const [a, b] = [result as Tensor, expected[at] as Tensor];
      await a.storage.toHost();
      const [left, right] = [a, b].map((tensor) => Array.from(tensor.contiguousArray() as ArrayLike<number>, Number));
      left.forEach((value, place) => expect(value).toBeCloseTo(right[place], 4));
      expect(new Set(right).size).toBeGreaterThan(1);
    }
  });
});
