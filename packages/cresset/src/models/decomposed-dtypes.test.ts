import { expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { script, tensor, type Tensor } from '../index.ts';

/** Operators that are defined in terms of others take and refuse the dtypes that PyTorch's own kernels do. What is expected is PyTorch's. */

const call = async (expression: string, ...args: Tensor[]): Promise<Tensor> => {
  const names = args.map((_, at) => `x${at}`);
  const unit = await script<'f'>(`def f(${names.join(', ')}):\n    return ${expression}\n`, { device: 'cpu' });
  return (await unit.f(...args)) as Tensor;
};

const longs = (): Tensor => tensor([1, 0, 1], { dtype: 'int64' });
const bools = (): Tensor => tensor([1, 0, 1], { dtype: 'bool' });
const doubles = (): Tensor => tensor([1, 0, 1], { dtype: 'float64' });
const floats = (): Tensor => tensor([0.5, 0.25, 1]);

it.each<[expression: string, args: readonly (() => Tensor)[], message: string]>([
  ['F.mse_loss(x0, x1)', [longs, longs], `"mse_cpu" not implemented for 'Long'`],
  ['F.mse_loss(x0, x1)', [bools, bools], `"mse_cpu" not implemented for 'Bool'`],
  ['F.smooth_l1_loss(x0, x1)', [longs, bools], `"smooth_l1_cpu" not implemented for 'Long'`],
  ['F.huber_loss(x0, x1)', [longs, longs], `"huber_cpu" not implemented for 'Long'`],
  ['F.huber_loss(x0, x1)', [longs, floats], "result type Float can't be cast to the desired output type Long"],
  ['F.kl_div(x0, x1)', [floats, longs], 'kl_div: Integral inputs not supported.'],
  ['F.binary_cross_entropy(x0, x1)', [bools, floats], 'Found dtype Float but expected Bool'],
  ['F.binary_cross_entropy(x0, x1)', [longs, longs], `"binary_cross_entropy" not implemented for 'Long'`],
  ['F.binary_cross_entropy_with_logits(x0, x1)', [floats, longs], "result type Float can't be cast to the desired"],
  ['F.binary_cross_entropy_with_logits(x0, x1)', [floats, bools], 'Subtraction, the `-` operator, with two bool'],
  ['F.soft_margin_loss(x0, x1)', [longs, longs], "result type Float can't be cast to the desired output type Long"],
  ['F.soft_margin_loss(x0[:1], x1)', [floats, floats], "output with shape [1] doesn't match the broadcast shape [3]"],
  ['F.hinge_embedding_loss(x0, x1)', [bools, floats], 'Subtraction, the `-` operator, with two bool tensors is not'],
  [
    'F.cross_entropy(x0, x1)',
    [floats, longs],
    'Expected floating point type for target with class probabilities, got Long',
  ],
  ['torch.cross(x0, x1)', [longs, doubles], 'expected scalar type Long but found Double'],
  ['torch.cross(x0, x1)', [bools, bools], `"cross" not implemented for 'Bool'`],
  [
    'torch.diff(x0, prepend=x1[0])',
    [floats, floats],
    'diff expects prepend or append to be the same dimension as input',
  ],
  ['torch.trapezoid(x0)', [bools], 'trapezoid: received a bool input for `y`, but bool is not supported'],
])('%s of what PyTorch refuses %#', async (expression, args, message) => {
  expect((await failure(call(expression, ...args.map((make) => make())))).message).toContain(message);
});

it.each<[expression: string, args: readonly (() => Tensor)[], dtype: string, expected: readonly number[]]>([
  ['F.mse_loss(x0, x1, reduction="none")', [longs, floats], 'float32', [0.25, 0.0625, 0]],
  ['F.mse_loss(x0, x1, reduction="none")', [floats, bools], 'float32', [0.25, 0.0625, 0]],
  ['F.smooth_l1_loss(x0, x1, reduction="none")', [bools, floats], 'float32', [0.125, 0.03125, 0]],
  ['F.huber_loss(x0, x1, reduction="none")', [floats, bools], 'float32', [0.125, 0.03125, 0]],
  ['F.huber_loss(x0, x1, reduction="none")', [floats, doubles], 'float32', [0.125, 0.03125, 0]],
  ['F.hinge_embedding_loss(x0, x1, 1.75, reduction="none")', [longs, floats], 'int64', [1, 1, 1]],
  ['F.binary_cross_entropy(x0, x1, x2, reduction="sum")', [floats, floats, doubles], 'float32', [Math.log(2)]],
])('%s is worked out in %#', async (expression, args, dtype, expected) => {
  const result = await call(expression, ...args.map((make) => make()));
  expect(result.dtype).toBe(dtype);
  const values = (await result.tolist()) as number | number[];
  expect([values].flat().map((value) => Math.fround(value))).toEqual(expected.map((value) => Math.fround(value)));
});
