import { bfloatToNumber, numberToBfloat, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { describe, expect, test } from 'vitest';
import { elements, ints, run, runAll, shown, tensor } from '../../operator-fixture.ts';
import { runLowered } from '../../oracle/run-lowered.ts';
import { findRow } from '../../table/register.ts';

const channel = (values: number[], dtype: ScalarType): Tensor => tensor(values, [2], dtype);
const mean = [0.1, -0.7];
const variance = [1.3, 0.4];

/** Batch norm of four elements in two channels, and the form in which it is fused. */
function bothForms(input: ScalarType, running: ScalarType, affine: ScalarType): [Tensor, Tensor] {
  const x = tensor([0.3, 1.7, -2.1, 0.9], [2, 2], input);
  const parameters = [
    channel([1.1, 0.3], affine),
    channel([0.2, -0.6], affine),
    channel(mean, running),
    channel(variance, running),
  ];
  const views = parameters.map((parameter) => run('aten::_ncf_unsqueeze', parameter, 2n));
  return [
    run('aten::batch_norm', x, ...parameters, false, 0.1, 1e-5, false) as Tensor,
    run('cresset::batch_norm', x, ...views, 1e-5) as Tensor,
  ];
}

describe('batch norm with running statistics', () => {
  test.each([
    ['float32', 'float32'],
    ['float64', 'float64'],
    ['float16', 'float16'],
    ['float16', 'float32'],
  ] as const)('of %s and parameters of %s keeps the dtype and is rounded once, fused too', (input, parameters) => {
    const [whole, fused] = bothForms(input, parameters, parameters);
    expect([whole.dtype, fused.dtype]).toEqual([input, input]);
    const digits = input === 'float16' ? 9 : 6;
    const expected = elements(whole).map(Number);
    elements(fused).forEach((value, at) => expect(value).toBeCloseTo(expected[at], digits));
  });

  test.each([
    ['float32', 'float32', 'float64', 'mixed dtype (CPU): expect parameter to have scalar type of Float'],
    ['float32', 'float16', 'float32', 'expected scalar type Float but found Half'],
    ['float64', 'float32', 'float32', 'mixed dtype (CPU): all inputs must share same datatype.'],
    ['float16', 'float32', 'float16', 'expected scalar type Half but found Float'],
  ] as const)('of %s refuses statistics of %s with a scale of %s', (input, running, affine, message) => {
    expect(() => bothForms(input, running, affine)).toThrow(message);
  });

  test('refuses as many statistics as there are not channels, fused too', () => {
    const x = tensor([1, 2, 3, 4], [2, 2]);
    const view = (values: number[]): Tensor => tensor(values, [1, values.length]);
    const fused = (variances: number[]): unknown =>
      run('cresset::batch_norm', x, null, null, view(mean), view(variances), 1e-5);
    expect(() => fused([1])).toThrow('running_var should contain 2 elements not 1');
  });
});

test('batch norm in training leaves running statistics as they are where the batch is empty', () => {
  const [middle, spread] = [channel([0.5, -0.25], 'float32'), channel([1.5, 2], 'float32')];
  const result = run('aten::batch_norm', tensor([], [0, 2, 3]), null, null, middle, spread, true, 0.1, 1e-5, false);
  expect((result as Tensor).sizes).toEqual([0, 2, 3]);
  expect([...elements(middle), ...elements(spread)]).toEqual([0.5, -0.25, 1.5, 2]);
});

test('batch norm in training rounds mean and deviation to the dtype of the parameters before it uses them', () => {
  const x = tensor([100.3, 3.1, 107.9, 2.2, 101.7, 5.9, 103.3, 8.4], [4, 2], 'float16');
  const normalized = (dtype: ScalarType): number[] => {
    const parameters = [channel([1, 1], dtype), channel([0, 0], dtype), null, null];
    return elements(run('aten::batch_norm', x, ...parameters, true, 0.1, 1e-5, false)).map(Number);
  };
  expect(normalized('float16')).toEqual([
    -1.052734375, -0.73779296875, 1.6015625, -1.107421875, -0.5703125, 0.41015625, 0, 1.435546875,
  ]);
  expect(normalized('float32')).toEqual([
    -1.0478515625, -0.73828125, 1.607421875, -1.107421875, -0.56494140625, 0.409912109375, 0.00548553466796875,
    1.435546875,
  ]);
});

test.each([
  ['the host', runAll],
  ['devices', (name: string, ...args: IValue[]) => runLowered(findRow(name, '')!, args)],
])('batch norm of bfloat16 works its statistics out in bfloat16 on %s', (_, runOn) => {
  const numbers = [100.3, 3.1, 107.9, 2.2, 101.7, 5.9, 103.3, 8.4, -3, 4, 50.5, -20.25, 7, 9];
  const bfloats = (values: number[], sizes: number[]): Tensor =>
    Tensor.fromArray(Uint16Array.from(values, numberToBfloat), sizes, 'bfloat16');
  const [ones, zeros] = [1, 0].map((value) => bfloats([value, value], [2]));
  const running = [bfloats([0, 0], [2]), bfloats([0, 0], [2])];
  const [, ...saved] = runOn(
    'aten::native_batch_norm',
    bfloats(numbers, [7, 2]),
    ones,
    zeros,
    ...running,
    true,
    1,
    1e-5,
  );
  const found = [...saved, ...running].map((values) => elements(values).map((bits) => bfloatToNumber(Number(bits))));
  expect(found).toEqual([
    [67, 1.7578125],
    [0.0223388671875, 0.107421875],
    [67, 1.7578125],
    [2352, 100.5],
  ]);
});

test('what has no elements is refused where it would tell mean and deviation', () => {
  const [mean, variance] = [tensor([0, 0, 0]), tensor([1, 1, 1])];
  const call = (input: Tensor, training: boolean): IValue[] =>
    runAll('aten::native_batch_norm', input, null, null, mean, variance, training, 0.1, 1e-5);
  expect(() => call(tensor([], [2, 3, 0]), true)).toThrow(
    'input tensor must have at least one element, but got input_sizes = [2, 3, 0]',
  );
  expect(call(tensor([], [0, 3]), false).map(shown)).toEqual([
    [[0, 3], []],
    [[0], []],
    [[0], []],
  ]);
});

test.each([
  ['the host', runAll],
  ['devices', (name: string, ...args: IValue[]) => runLowered(findRow(name, '')!, args)],
])('rows of no elements have a mean of zero and no deviation on %s', (_, runOn) => {
  const [, mean, rstd] = runOn('aten::native_layer_norm', tensor([], [2, 0]), ints(0n), null, null, 1e-5);
  expect(elements(mean)).toEqual([0, 0]);
  expect(elements(rstd)).toEqual([NaN, NaN]);
});

test('squares that no float32 holds make a norm all zeros, of doubles they do not', () => {
  const norm = (dtype: ScalarType): number[] =>
    elements(run('aten::layer_norm', tensor([3e19, -1e19, 2e19], [3], dtype), ints(3n)) as Tensor).map(Number);
  expect(norm('float32').map(Math.abs)).toEqual([0, 0, 0]);
  expect(norm('float64')[1]).toBeCloseTo(-1.3728, 4);
});
