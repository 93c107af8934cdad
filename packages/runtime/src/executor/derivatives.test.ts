import { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { compiledFunction } from './function-fixture.ts';

const vector = (values: readonly number[]): Tensor =>
  Tensor.fromArray(Float64Array.from(values), [values.length], 'float64');
const numbers = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float64Array);

const points = [-2.3, -0.7, -0.1, 0.2, 0.6, 1.4, 3.7];
const weights = [0.3, -1.2, 0.8, 1.1, -0.4, 0.9, 2];

describe('derivatives are the slopes of what they derive', () => {
  it.each([
    ['torch.threshold(x, 0.5, 0.)', 'threshold_backward(g, x, 0.5)'],
    ['torch.sigmoid(x)', 'sigmoid_backward(g, torch.sigmoid(x))'],
    ['torch.tanh(x)', 'tanh_backward(g, torch.tanh(x))'],
    ['torch.hardtanh(x, -1., 1.)', 'hardtanh_backward(g, x, -1., 1.)'],
    ['torch.leaky_relu(x, 0.2)', 'leaky_relu_backward(g, x, 0.2, False)'],
    ['torch.elu(x, 1.5)', 'elu_backward(g, 1.5, 1., 1., False, x)'],
    ['torch.elu(x, 1.5)', 'elu_backward(g, 1.5, 1., 1., True, torch.elu(x, 1.5))'],
    ['torch.softplus(x, 2., 1.)', 'softplus_backward(g, x, 2., 1.)'],
    ['torch.hardswish(x)', 'hardswish_backward(g, x)'],
    ['torch.hardsigmoid(x)', 'hardsigmoid_backward(g, x)'],
    ['torch.hardshrink(x, 0.5)', 'hardshrink_backward(g, x, 0.5)'],
    ['torch.softshrink(x, 0.5)', 'softshrink_backward(g, x, 0.5)'],
    ['torch.log_sigmoid(x)', 'log_sigmoid_backward(g, x, x)'],
    ['torch.gelu(x)', 'gelu_backward(g, x)'],
    ['torch.gelu(x, approximate="tanh")', 'gelu_backward(g, x, approximate="tanh")'],
    ['torch.silu(x)', 'silu_backward(g, x)'],
    ['torch.mish(x)', 'mish_backward(g, x)'],
    ['torch.mse_loss(x, t, 0)', 'mse_loss_backward(g, x, t, 0)'],
    ['torch.smooth_l1_loss(x, t, 0, 0.25)', 'smooth_l1_loss_backward(g, x, t, 0, 0.25)'],
    ['torch.huber_loss(x, t, 0, 0.7)', 'huber_loss_backward(g, x, t, 0, 0.7)'],
    ['torch.soft_margin_loss(x, t, 0)', 'soft_margin_loss_backward(g, x, t, 0)'],
  ])('%s', (value, gradient) => {
    const forward = compiledFunction(`def f(x: Tensor, t: Tensor) -> Tensor:\n    return ${value}\n`);
    const backward = compiledFunction(
      `def f(g: Tensor, x: Tensor, t: Tensor) -> Tensor:\n    return torch.ops.aten.${gradient}\n`,
    );
    const step = 1e-6;
    const target = vector(weights.toReversed());
    const [above, below] = [step, -step].map((by) => numbers(forward(vector(points.map((x) => x + by)), target)));
    const got = numbers(backward(vector(weights), vector(points), target));
    got.forEach((slope, at) => expect(slope).toBeCloseTo((weights[at] * (above[at] - below[at])) / (2 * step), 6));
  });

  it('gradient() of a parabola at uneven points is exact', () => {
    const gradient = compiledFunction(
      'def f(y: Tensor, x: Tensor) -> Tensor:\n    return torch.gradient(y, spacing=[x], edge_order=2)[0]\n',
    );
    const x = [0, 0.5, 2, 3, 5];
    const slopes = numbers(gradient(vector(x.map((at) => at * at)), vector(x)));
    slopes.forEach((slope, at) => expect(slope).toBeCloseTo(2 * x[at], 10));
  });

  it('of convolutions in groups by their input, weight and bias', () => {
    const shaped = (sizes: number[], values: readonly number[]): Tensor =>
      vector(values).asStrided(sizes, [sizes[1] * sizes[2], sizes[2], 1]);
    const gradients = [0, 1, 2].map((which) =>
      numbers(
        compiledFunction(
          `def f(g: Tensor, x: Tensor, w: Tensor) -> Tensor:\n    return torch.ops.aten.convolution_backward(g, x, w, [2], [2], [0], [1], False, [0], 2, [True, True, True])[${which}]\n`,
        )(
          shaped([1, 2, 2], [1, 2, 3, 4]),
          shaped([1, 2, 4], [0, 1, 2, 3, 4, 5, 6, 7]),
          shaped([2, 1, 2], [1, -1, 2, 0.5]),
        ),
      ),
    );
    // PyTorch's answers.
    expect(gradients).toEqual([
      [1, -1, 2, -2, 6, 1.5, 8, 2],
      [4, 7, 36, 43],
      [3, 7],
    ]);
  });
});

describe('fake quantisation', () => {
  it('rounds as PyTorch does, by channel and by tensor', () => {
    const perChannel = compiledFunction(
      'def f(x: Tensor, s: Tensor, z: Tensor) -> Tensor:\n    return torch.fake_quantize_per_channel_affine(x, s, z, 0, 0, 15)\n',
    );
    const scales = Tensor.fromArray(Float32Array.of(0.5, 0.25, 0.5, 1, 0.5), [5], 'float32');
    const zeros = Tensor.fromArray(Int32Array.of(0, 1, 2, 0, 1), [5], 'int32');
    expect(numbers(perChannel(vector([-1, 0.26, 100, NaN, Infinity]), scales, zeros))).toEqual([0, 0.25, 6.5, 0, -0.5]);
    const perTensor = compiledFunction(
      'def f(x: Tensor) -> Tensor:\n    return torch.fake_quantize_per_tensor_affine(x, 0.5, 1, 0, 15)\n',
    );
    expect(numbers(perTensor(vector([-1, 0.26, 100, NaN, Infinity])))).toEqual([-0.5, 0.5, 7, -0.5, 7]);
  });
});
