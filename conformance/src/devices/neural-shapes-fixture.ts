import { IntType, TensorType } from '@cresset/ir';
import { findRow, registerAllOperators, runOnDevice, runOnHost, type HostContext } from '@cresset/operators';
import { List, numelOf, Tensor, type IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { fixedGenerator, loweringOn } from '../../../packages/operators/src/operator-fixture.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Lowerings against host kernels at sizes that fill no tile evenly. */
export function testNeuralShapes(open: () => Promise<ComputeDevice>): void {
  let device: ComputeDevice;
  beforeAll(async () => {
    registerAllOperators();
    device = await open();
  });
  afterAll(() => device.dispose());

  let seed = 7;
  function random(...sizes: number[]): Tensor {
    const data = Float32Array.from({ length: numelOf(sizes) }, () => {
      seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
      return seed / 2 ** 31;
    });
    return Tensor.fromArray(data, sizes, 'float32');
  }

  const ints = (...values: number[]): List => new List(IntType.get(), values.map(BigInt));
  const tensors = (...values: Tensor[]): List => new List(TensorType.get(), values);
  const transposed = (tensor: Tensor): Tensor =>
    tensor.asStrided(tensor.sizes.toReversed(), tensor.strides.toReversed());

  const host: HostContext = {
    generator: fixedGenerator,
    gradEnabled: false,
    print: () => undefined,
    warn: () => undefined,
  };

  type Example = readonly [name: string, overload: string, make: () => IValue[]];

  const one = ints(1, 1);
  const none = ints(0, 0);

  const examples: readonly Example[] = [
    ['mm', '', () => [random(67, 129), random(129, 45)]],
    ['mm', '', () => [transposed(random(131, 33)), transposed(random(70, 131))]],
    ['mm', '', () => [random(3, 517), random(517, 301)]],
    ['mv', '', () => [random(133, 259), random(259)]],
    ['bmm', '', () => [random(5, 17, 65), random(5, 65, 33)]],
    ['matmul', '', () => [random(3, 1, 19, 37), random(4, 37, 21)]],
    ['linear', '', () => [random(2, 13, 75), random(99, 75), random(99)]],
    ['linear', '', () => [random(1, 300), random(77, 300), random(77)]],
    ['conv1d', '', () => [random(2, 7, 101), random(13, 7, 5), random(13), ints(2), ints(3), ints(2), 1n]],
    ['conv2d', '', () => [random(1, 13, 29, 23), random(21, 13, 3, 3), random(21), one, one, one, 1n]],
    ['conv2d', '', () => [random(2, 16, 19, 17), random(24, 16, 1, 1), null, one, none, one, 1n]],
    ['conv2d', '', () => [random(1, 12, 31, 29), random(18, 4, 3, 5), random(18), ints(2, 2), ints(1, 2), one, 3n]],
    ['conv2d', '', () => [random(1, 35, 23, 21), random(35, 1, 5, 5), null, one, ints(2, 2), one, 35n]],
    [
      'conv_transpose2d',
      'input',
      () => [random(1, 11, 13, 9), random(11, 9, 4, 3), random(9), ints(2, 2), one, none, 1n, one],
    ],
    // Places behind the last element come of the bias alone.
    [
      'conv_transpose2d',
      'input',
      () => [random(1, 12, 31, 29), random(12, 16, 3, 3), random(16), ints(2, 2), none, one, 1n, one],
    ],
    ['max_pool2d_with_indices', '', () => [random(2, 5, 37, 31), ints(3, 3), ints(2, 2), one, one, true]],
    ['avg_pool2d', '', () => [random(2, 5, 37, 31), ints(5, 3), ints(3, 2), one, true, false, null]],
    ['adaptive_avg_pool2d', '', () => [random(2, 5, 37, 31), ints(7, 6)]],
    ['layer_norm', '', () => [random(37, 515), ints(515), random(515), random(515), 1e-5, true]],
    ['group_norm', '', () => [random(3, 12, 17, 13), 4n, random(12), random(12), 1e-5, true]],
    ['softmax', 'int', () => [random(5, 1031), -1n, null]],
    ['log_softmax', 'int', () => [random(33, 17, 5), 1n, null]],
    [
      'scaled_dot_product_attention',
      '',
      () => [random(2, 3, 65, 24), random(2, 3, 71, 24), random(2, 3, 71, 40), null, 0, true, null, false],
    ],
    [
      'lstm',
      'input',
      () => [
        random(9, 3, 35),
        tensors(random(2, 3, 41), random(2, 3, 41)),
        tensors(
          random(164, 35),
          random(164, 41),
          random(164),
          random(164),
          random(164, 35),
          random(164, 41),
          random(164),
          random(164),
        ),
        true,
        1n,
        0,
        false,
        true,
        false,
      ],
    ],
    ['gru_cell', '', () => [random(5, 35), random(5, 41), random(123, 35), random(123, 41), random(123), random(123)]],
    ['sort', '', () => [random(7, 333), -1n, true]],
    ['topk', '', () => [random(7, 333), 9n, -1n, true, true]],
    ['upsample_bilinear2d', '', () => [random(2, 3, 17, 13), ints(41, 29), false, null, null]],
  ];

  describe('odd sizes on the device', () => {
    it.each(examples.map((example, at) => ({ name: `aten::${example[0]} #${at}`, example })))(
      '$name',
      async ({ example }) => {
        const [name, overload, make] = example;
        const row = findRow(`aten::${name}`, overload)!;
        const args = make();
        const expected = runOnHost(row, args, host) as Tensor[];
        const results = (await runOnDevice(row, args, loweringOn(device))) as Tensor[];
        await Promise.all(results.map((result) => result.storage.toHost()));
        results.forEach((result, at) => {
          const [got, want] = [result, expected[at]].map((tensor) => Array.from(tensor.contiguousArray(), Number));
          const worst = got.reduce(
            (most, value, i) => Math.max(most, Math.abs(value - want[i]) / (1 + Math.abs(want[i]))),
            0,
          );
          expect(got.length).toBe(want.length);
          expect(worst).toBeLessThan(2e-5);
        });
      },
    );
  });
}
