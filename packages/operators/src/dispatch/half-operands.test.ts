import { describe, expect, test } from 'vitest';
import { elements, run, tensor } from '../operator-fixture.ts';

const tenth = tensor([0.1, 0.3, -0.7], [3], 'float16');
const rounded = elements(tenth).map(Number);
const asHalf = (value: number): number => Number(elements(tensor([value], [1], 'float16'))[0]);

describe('a number that meets half precision', () => {
  test('is rounded to it, as what is without dimensions', () => {
    expect(elements(run('aten::eq.Scalar', tenth, 0.1))).toEqual([1, 0, 0]);
    expect(elements(run('aten::eq.Tensor', tenth, tensor([0.1], [])))).toEqual([1, 0, 0]);
    expect(elements(run('aten::gt.Scalar', tenth, 0.1))).toEqual([0, 1, 0]);
    expect(elements(run('aten::add.Scalar', tenth, 0.1, 1n))).toEqual(
      rounded.map((value) => asHalf(value + asHalf(0.1))),
    );
    expect(elements(run('aten::sub.Tensor', tenth, tenth, 0.3))).toEqual(
      rounded.map((value) => asHalf(value - asHalf(0.3) * value)),
    );
    expect(elements(run('aten::add.Scalar', tenth, 4097n, 1n))).toEqual([4096, 4096, 4096]);
  });

  test('is taken as it is where it is a factor or divisor, not where it is divided', () => {
    const exact = (value: number): number => asHalf(Math.fround(value));
    expect(elements(run('aten::mul.Scalar', tenth, 0.1))).toEqual(
      rounded.map((value) => exact(value * Math.fround(0.1))),
    );
    expect(elements(run('aten::div.Tensor', tenth, tensor([0.3], [])))).toEqual(
      rounded.map((value) => exact(value / Math.fround(0.3))),
    );
    expect(elements(run('aten::div.Tensor', tensor([0.3], []), tenth))).toEqual(
      rounded.map((value) => exact(asHalf(0.3) / value)),
    );
  });
});
