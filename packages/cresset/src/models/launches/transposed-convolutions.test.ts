import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { describe, expect, test } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';
import { onHostDevices } from './host-devices-fixture.ts';

registerAllParts();

interface Case {
  readonly name: string;
  readonly call: string;
  readonly x: readonly number[];
  readonly w: readonly number[];
  /** Launches: one for each place between elements of the input, where there are several. */
  readonly launches: number;
}

const cases: readonly Case[] = [
  {
    name: 'stride 2',
    call: 'torch.conv_transpose2d(x, w, y, 2, 1)',
    x: [2, 16, 13, 11],
    w: [16, 8, 3, 3],
    launches: 4,
  },
  {
    name: 'stride 2, with one more at the end',
    call: 'torch.conv_transpose2d(x, w, y, 2, 1, 1)',
    x: [2, 16, 13, 11],
    w: [16, 8, 3, 3],
    launches: 4,
  },
  {
    name: 'another stride for each dimension, groups',
    call: 'torch.conv_transpose2d(x, w, y, [3, 2], [2, 0], [1, 0], 2)',
    x: [2, 16, 9, 16],
    w: [16, 4, 4, 5],
    launches: 6,
  },
  {
    name: 'one dimension',
    call: 'torch.conv_transpose1d(x, w, y, 4, 3)',
    x: [3, 16, 100],
    w: [16, 8, 9],
    launches: 4,
  },
  {
    name: 'filters that are shorter than the stride',
    call: 'torch.conv_transpose2d(x, w, y, 3)',
    x: [2, 16, 13, 11],
    w: [16, 8, 2, 2],
    launches: 1,
  },
  {
    name: 'elements of the filters that are apart',
    call: 'torch.conv_transpose2d(x, w, y, 2, 1, 0, 1, 2)',
    x: [2, 16, 13, 11],
    w: [16, 8, 3, 3],
    launches: 1,
  },
  {
    name: 'no overlaps',
    call: 'torch.conv_transpose2d(x, w, y, 2)',
    x: [2, 16, 13, 11],
    w: [16, 8, 2, 2],
    launches: 1,
  },
  { name: 'little', call: 'torch.conv_transpose2d(x, w, y, 2, 1)', x: [1, 2, 5, 5], w: [2, 8, 3, 3], launches: 1 },
];

describe.each(cases)('a transposed convolution on the host, $name', ({ call, x, w, launches }) => {
  const source = `def f(x: Tensor, w: Tensor, y: Tensor):\n    return ${call}\n`;
  const args = [tensorOf(x), tensorOf(w, 2), tensorOf([8], 3)];

  test('multiplies by no zeros that it makes, and has the same result', async () => {
    const wanted = (await new PythonFunctions(source, { device: null }).call('f', args)) as Tensor;
    for (const functions of await onHostDevices(source)) {
      for (let time = 0; time < 3; time++) {
        const found = (await functions.call('f', args)) as Tensor;
        expect(found.sizes).toEqual(wanted.sizes);
        const numbers = found.contiguousArray() as Float32Array;
        (wanted.contiguousArray() as Float32Array).forEach((value, at) => {
          if (Math.abs(numbers[at] - value) > 1e-4) expect(numbers[at]).toBeCloseTo(value, 4);
        });
        expect(functions.module.lastRun!.dispatches).toBe(launches);
      }
    }
  });
});

test('filters are packed and kept once, however many pictures there are', async () => {
  const keptBytes = async (pictures: number): Promise<number> => {
    const device = new WasmDevice();
    const functions = new PythonFunctions(
      'def f(x: Tensor, w: Tensor, y: Tensor):\n    x.add_(0.0)\n    return torch.conv2d(x, w, y, 1, 1)\n',
      { device, limits: { smallWork: -1 } },
    );
    const [w, y] = [tensorOf([12, 6, 3, 3], 2), tensorOf([12], 3)];
    const wanted = new PythonFunctions(
      'def f(x: Tensor, w: Tensor, y: Tensor):\n    return torch.conv2d(x, w, y, 1, 1)\n',
      {
        device: null,
      },
    );
    for (let time = 0; time < 5; time++) {
      const x = tensorOf([pictures, 6, 12, 12], time);
      const found = ((await functions.call('f', [x, w, y])) as Tensor).contiguousArray() as Float32Array;
      const values = ((await wanted.call('f', [x, w, y])) as Tensor).contiguousArray() as Float32Array;
      values.forEach((value, at) => expect(Math.abs(found[at] - value)).toBeLessThan(1e-4));
    }
    return device.keptBytes;
  };
  expect(await keptBytes(1)).toBe(4 * 12 * 6 * 9);
  expect(await keptBytes(5)).toBe(4 * 12 * 6 * 9);
});
