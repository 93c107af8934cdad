import { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { compiledFunction } from './function-fixture.ts';

const numbers = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float64Array);
const tensorOf = (sizes: readonly number[], values: readonly number[]): Tensor =>
  Tensor.fromArray(Float64Array.from(values), [...sizes], 'float64');
/** Numbers that lie apart, so that no step changes which one is greatest. */
const spread = (count: number): number[] => Array.from({ length: count }, (_, i) => ((i * 7919) % 101) / 17 - 2.5);

interface Case {
  readonly sizes: readonly number[];
  /** An expression of `x` and `y`, a vector of four. */
  readonly forward: string;
  /** One of those and `g`, the gradient of what `forward` gives. */
  readonly backward: string;
}

const vector = [0.7, -1.1, 1.6, 0.4];
const pool = '[3, 2], [2, 1], [1, 0]';
const statistics = 'torch.ops.aten.native_batch_norm(x, y, y, None, None, True, 0.1, 1e-5)';
const layer = 'torch.ops.aten.native_layer_norm(x, [4], y, y, 1e-5)';

const cases: Readonly<Record<string, Case>> = {
  'adaptive_avg_pool2d to windows that overlap': {
    sizes: [2, 5, 4],
    forward: 'torch.ops.aten.adaptive_avg_pool2d(x, [3, 2])',
    backward: 'torch.ops.aten._adaptive_avg_pool2d_backward(g, x)',
  },
  adaptive_avg_pool3d: {
    sizes: [1, 2, 3, 4, 5],
    forward: 'torch.ops.aten.adaptive_avg_pool3d(x, [2, 2, 3])',
    backward: 'torch.ops.aten._adaptive_avg_pool3d_backward(g, x)',
  },
  'avg_pool2d over its padding': {
    sizes: [1, 2, 6, 5],
    forward: `torch.ops.aten.avg_pool2d(x, ${pool})`,
    backward: `torch.ops.aten.avg_pool2d_backward(g, x, ${pool}, False, True, None)`,
  },
  'avg_pool2d without its padding, as often as windows begin': {
    sizes: [2, 6, 5],
    forward: `torch.ops.aten.avg_pool2d(x, ${pool}, True, False)`,
    backward: `torch.ops.aten.avg_pool2d_backward(g, x, ${pool}, True, False, None)`,
  },
  'avg_pool2d with a divisor, windows side by side': {
    sizes: [2, 6, 6],
    forward: 'torch.ops.aten.avg_pool2d(x, [2, 3], [], [0], False, True, 5)',
    backward: 'torch.ops.aten.avg_pool2d_backward(g, x, [2, 3], [], [0], False, True, 5)',
  },
  max_pool2d: {
    sizes: [2, 6, 5],
    forward: `torch.max_pool2d(x, ${pool}, [1, 2])`,
    backward: `torch.ops.aten.max_pool2d_with_indices_backward(g, x, ${pool}, [1, 2], False, torch.ops.aten.max_pool2d_with_indices(x, ${pool}, [1, 2])[1])`,
  },
  'batch_norm in training, of its input': {
    sizes: [3, 4, 2],
    forward: `${statistics}[0]`,
    backward: `torch.ops.aten.native_batch_norm_backward(g, x, y, None, None, ${statistics}[1], ${statistics}[2], True, 1e-5, [True, True, True])[0]`,
  },
  'batch_norm with kept statistics, of its input': {
    sizes: [3, 4, 2],
    forward: 'torch.batch_norm(x, y, None, y, y * y, False, 0.1, 1e-5, False)',
    backward:
      'torch.ops.aten._batch_norm_impl_index_backward(0, x, g, y, y, y * y, None, None, False, 1e-5, [True, False, False], y)[0]',
  },
  'batch_norm that tells how it was computed': {
    sizes: [3, 4, 2],
    forward: 'torch.ops.aten._batch_norm_impl_index(x, y, y, None, None, True, 0.1, 1e-5, False)[0]',
    backward:
      'torch.ops.aten._batch_norm_impl_index_backward(0, x, g, y, None, None, torch.ops.aten._batch_norm_impl_index(x, y, y, None, None, True, 0.1, 1e-5, False)[1], torch.ops.aten._batch_norm_impl_index(x, y, y, None, None, True, 0.1, 1e-5, False)[2], True, 1e-5, [True, False, False], y)[0]',
  },
  'layer_norm, of its input': {
    sizes: [3, 4],
    forward: `${layer}[0]`,
    backward: `torch.ops.aten.native_layer_norm_backward(g, x, [4], ${layer}[1], ${layer}[2], y, y, [True, True, True])[0]`,
  },
};

describe('derivatives of layers are their slopes', () => {
  it.each(Object.entries(cases))('%s', (_, { sizes, forward, backward }) => {
    const value = compiledFunction(`def f(x: Tensor, y: Tensor) -> Tensor:\n    return ${forward}\n`);
    const gradient = compiledFunction(`def f(g: Tensor, x: Tensor, y: Tensor) -> Tensor:\n    return ${backward}\n`);
    const count = sizes.reduce((product, size) => product * size, 1);
    const points = spread(count);
    const y = tensorOf([4], vector);
    const result = value(tensorOf(sizes, points), y);
    const weights = spread(result.numel).reverse();
    const got = gradient(tensorOf(result.sizes, weights), tensorOf(sizes, points), y);
    expect(got.sizes).toEqual(sizes);
    const step = 1e-6;
    const along = (by: number, at: number): number => {
      const moved = tensorOf(
        sizes,
        points.map((x, index) => (index === at ? x + by : x)),
      );
      return numbers(value(moved, y)).reduce((sum, each, index) => sum + each * weights[index], 0);
    };
    numbers(got).forEach((slope, at) =>
      expect(slope).toBeCloseTo((along(step, at) - along(-step, at)) / (2 * step), 6),
    );
  });

  it.each([
    [
      'batch_norm',
      [3, 4, 2],
      `torch.ops.aten.native_batch_norm_backward(g, x, y, None, None, ${statistics}[1], ${statistics}[2], True, 1e-5, [False, True, True])`,
      `${statistics}[0]`,
    ],
    [
      'layer_norm',
      [3, 4],
      `torch.ops.aten.native_layer_norm_backward(g, x, [4], ${layer}[1], ${layer}[2], y, y, [False, True, True])`,
      `${layer}[0]`,
    ],
  ])('%s, of its weight and bias', (_, sizes, backward, forward) => {
    const count = sizes.reduce((product, size) => product * size, 1);
    const [x, g] = [tensorOf(sizes, spread(count)), tensorOf(sizes, spread(count).reverse())];
    // The weight is the bias here: what changes both has both gradients.
    const value = compiledFunction(`def f(x: Tensor, y: Tensor) -> Tensor:\n    return ${forward}\n`);
    const gradient = compiledFunction(
      `def f(g: Tensor, x: Tensor, y: Tensor) -> Tensor:\n    r = ${backward}\n    assert r[0].numel() == 0\n    return r[1] + r[2]\n`,
    );
    const step = 1e-6;
    const along = (by: number, at: number): number => {
      const moved = tensorOf(
        [4],
        vector.map((each, index) => (index === at ? each + by : each)),
      );
      return numbers(value(x, moved)).reduce((sum, each, index) => sum + each * numbers(g)[index], 0);
    };
    numbers(gradient(g, x, tensorOf([4], vector))).forEach((slope, at) =>
      expect(slope).toBeCloseTo((along(step, at) - along(-step, at)) / (2 * step), 6),
    );
  });

  it('embedding, of its rows', () => {
    const gradient = compiledFunction(
      'def f(g: Tensor, at: Tensor) -> Tensor:\n    return torch.ops.aten.embedding_backward(g, at, 4, 1, False, False)\n',
    );
    const at = Tensor.fromArray(BigInt64Array.from([2n, 1n, 2n]), [3], 'int64');
    expect(numbers(gradient(tensorOf([3, 2], [1, 2, 3, 4, 5, 6]), at))).toEqual([0, 0, 0, 0, 6, 8, 0, 0]);
  });
});
