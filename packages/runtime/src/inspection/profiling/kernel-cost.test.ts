import { Tensor } from '@cresset/tensor';
import { accumulator, axis, binary, constant, reduce, TensorView, unary, type Kernel } from '@cresset/tensorexpr';
import { describe, expect, it } from 'vitest';
import { kernelCost } from './kernel-cost.ts';

const view = (...sizes: number[]): TensorView => {
  const count = sizes.reduce((product, size) => product * size, 1);
  return new TensorView(Tensor.fromArray(new Float32Array(count), sizes, 'float32'));
};

describe('what a kernel has to do', () => {
  it('reads a broadcast row once, and computes each point', () => {
    const [x, row, y] = [view(8, 16), view(16), view(8, 16)];
    const [i, j] = y.axes();
    const value = unary('tanh', binary('add', x.at([i, j]), row.at([j])));
    const store = { operand: y.operand, offset: y.offsetAt([i, j]), value };
    const kernel: Kernel = { kind: 'nest', label: '', axes: [i, j], innerAxes: [], stores: [store] };
    expect(kernelCost(kernel)).toEqual({ bytes: 4 * (128 + 16 + 128), flops: 2 * 128 });
  });

  it('works a shared reduction out once a row', () => {
    const [x, y] = [view(8, 16), view(8, 16)];
    const [i, j] = y.axes();
    const k = axis('k', x.sizes[1]);
    const total = reduce('sum', [k], x.at([i, k]));
    const store = { operand: y.operand, offset: y.offsetAt([i, j]), value: binary('div', x.at([i, j]), total) };
    const kernel: Kernel = { kind: 'nest', label: '', axes: [i], innerAxes: [j], stores: [store] };
    // A sum of 16 in each of 8 rows, and a division for each element.
    expect(kernelCost(kernel)).toEqual({ bytes: 4 * 256, flops: 8 * 16 + 128 });
  });

  it('reads keys and writes places where lines are put in order', () => {
    const [keys, places] = [view(4, 32).tensor, Tensor.fromArray(new Int32Array(12), [4, 3], 'int32')];
    const ordering = { kind: 'ordering', label: '', keys, places, first: 0, descending: false, way: 'stable' } as const;
    expect(kernelCost(ordering)).toEqual({ bytes: 4 * (128 + 12), flops: 0 });
  });

  it('counts a product and a sum for each step of a contraction, and what is done to the result', () => {
    const [a, b, c] = [view(4, 32), view(32, 8), view(4, 8)];
    const [m, n] = c.axes('mn');
    const k = axis('k', a.sizes[1]);
    const value = binary('max', accumulator, constant('float', 0));
    const store = { operand: c.operand, offset: c.offsetAt([m, n]), value };
    const kernel: Kernel = {
      kind: 'contraction',
      label: '',
      batch: [],
      m,
      n,
      k,
      left: a.at([m, k]),
      right: b.at([k, n]),
      stores: [store],
    };
    expect(kernelCost(kernel)).toEqual({ bytes: 4 * (128 + 256 + 32), flops: 2 * 4 * 8 * 32 + 32 });
  });
});
