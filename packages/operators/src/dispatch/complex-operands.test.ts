import { Complex } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { elements, longs, run } from '../operator-fixture.ts';

const one = (re: number, im = 0): Tensor => Tensor.fromArray(Float32Array.of(re, im), [1], 'complex64');

// PyTorch's answers.
test('what meets complex64 is converted to it first', () => {
  expect(elements(run('aten::eq.Scalar', one(0.1), 0.1))).toEqual([1]);
  expect(elementsOf(run('aten::add.Scalar', one(1), 16777217n, 1n) as Tensor)).toEqual([16777216, 0]);
  expect(elementsOf(run('aten::add.Tensor', one(1), longs(16777217n), 1n) as Tensor)).toEqual([16777216, 0]);
  expect(elementsOf(run('aten::mul.Scalar', one(0.7), new Complex(0.1, 0.3)) as Tensor)).toEqual([
    0.07000000029802322, 0.21000000834465027,
  ]);
  expect(
    elementsOf(run('aten::div.Tensor', Tensor.fromArray(Float64Array.of(0.3), [], 'float64'), one(0.7)) as Tensor),
  ).toEqual([0.4285714626312256, 0]);
});

test('a product of complex64 is too large part by part', () => {
  const large = one(1e30, 9e29);
  expect(elementsOf(run('aten::mul.Tensor', large, large) as Tensor)).toEqual([NaN, Infinity]);
});

const elementsOf = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float32Array);
