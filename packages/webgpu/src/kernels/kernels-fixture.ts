import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  constant,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type Kernel,
  type ComputeDevice,
} from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Kernels as operators describe them, on a device. */
export function testKernels(open: () => Promise<ComputeDevice>): void {
  let device: ComputeDevice;
  beforeAll(async () => {
    device = await open();
  });
  afterAll(() => device.dispose());

  function random(sizes: readonly number[]): Tensor {
    const count = sizes.reduce((a, b) => a * b, 1);
    return Tensor.fromArray(
      Float32Array.from({ length: count }, () => Math.random() * 2 - 1),
      sizes,
      'float32',
    );
  }

  async function run(kernel: Kernel, output: Tensor): Promise<number[]> {
    device.launch(kernel);
    await output.storage.toHost();
    return Array.from(output.contiguousArray() as Float32Array);
  }

  function expectClose(actual: readonly number[], expected: readonly number[], tolerance = 1e-5): void {
    expect(actual.length).toBe(expected.length);
    let worst = 0;
    actual.forEach((value, index) => {
      const error = Math.abs(value - expected[index]) / (1 + Math.abs(expected[index]));
      if (!(error <= worst)) worst = error;
    });
    expect(worst).toBeLessThan(tolerance);
  }

  describe('nests', () => {
    test('a pointwise sum with broadcasting', async () => {
      const x = random([7, 13]);
      const y = random([13]);
      const out = Tensor.empty([7, 13], 'float32');
      const [vx, vy, vo] = [x, y, out].map((tensor) => new TensorView(tensor));
      const [i, j] = vo.axes();
      const value = unary('tanh', binary('add', vx.at([i, j]), vy.at([j])));
      const kernel: Kernel = {
        kind: 'nest',
        label: 'aten::add, aten::tanh',
        axes: [i, j],
        innerAxes: [],
        stores: [{ operand: vo.operand, offset: vo.offsetAt([i, j]), value }],
      };
      const result = await run(kernel, out);
      const [ax, ay] = [x.contiguousArray(), y.contiguousArray()] as Float32Array[];
      expectClose(
        result,
        Array.from(ax, (value, at) => Math.tanh(value + ay[at % 13])),
      );
    });

    test.each([
      [3, 5],
      [2, 1000],
      [1000, 40],
      [20000, 3],
      [1, 1],
      [5, 0],
    ])('softmax over %i rows of %i', async (rows, columns) => {
      const x = random([rows, columns]);
      const out = Tensor.empty([rows, columns], 'float32');
      const vx = new TensorView(x);
      const vo = new TensorView(out);
      const [i, j] = vo.axes();
      const r = axis('r', vx.sizes[1]);
      const largest = reduce('max', [r], vx.at([i, r]));
      const total = reduce('sum', [r], unary('exp', binary('sub', vx.at([i, r]), largest)));
      const value = binary('div', unary('exp', binary('sub', vx.at([i, j]), largest)), total);
      const result = await run(
        {
          kind: 'nest',
          label: 'aten::softmax',
          axes: [i],
          innerAxes: [j],
          stores: [{ operand: vo.operand, offset: vo.offsetAt([i, j]), value }],
        },
        out,
      );
      const data = x.contiguousArray() as Float32Array;
      const expected: number[] = [];
      for (let row = 0; row < rows; row++) {
        const values = Array.from(data.subarray(row * columns, (row + 1) * columns), Math.exp);
        const sum = values.reduce((a, b) => a + b, 0);
        expected.push(...values.map((value) => value / sum));
      }
      expectClose(result, expected);
    });
  });

  describe('contractions', () => {
    test.each([
      [1, 1, 1],
      [3, 5, 7],
      [16, 300, 31],
      [65, 257, 129],
      [2, 3, 0],
      [0, 3, 2],
    ])('a product of %i by %i over %i', async (m, n, k) => {
      const a = random([m, k]);
      const b = random([k, n]);
      const out = Tensor.empty([m, n], 'float32');
      const [va, vb, vo] = [a, b, out].map((tensor) => new TensorView(tensor));
      const [i, j] = vo.axes('mn');
      const s = axis('k', va.sizes[1]);
      const result = await run(
        {
          kind: 'contraction',
          label: 'aten::mm',
          batch: [],
          m: i,
          n: j,
          k: s,
          left: va.at([i, s]),
          right: vb.at([s, j]),
          stores: [
            {
              operand: vo.operand,
              offset: vo.offsetAt([i, j]),
              value: select(constant('bool', true), accumulator, param('float', 0)),
            },
          ],
        },
        out,
      );
      const [da, db] = [a.contiguousArray(), b.contiguousArray()];
      const expected: number[] = [];
      for (let row = 0; row < m; row++) {
        for (let column = 0; column < n; column++) {
          let sum = 0;
          for (let step = 0; step < k; step++) sum += Number(da[row * k + step]) * Number(db[step * n + column]);
          expected.push(sum);
        }
      }
      expectClose(result, expected);
    });
  });
}
