import { Tensor } from '@cresset/tensor';
import { describe, expect, test } from 'vitest';
import { tiled, tilingsFor, timesFor } from './tiling.ts';

const ints = (...sizes: number[]): Tensor => {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(
    Int32Array.from({ length: count }, (_, at) => at + 1),
    sizes,
    'int32',
  );
};
const tile = (name: string, times: number, ...tensors: Tensor[]): Tensor[] =>
  tiled(
    tensors,
    tilingsFor(tensors).find((tiling) => tiling.name === name)!,
    times,
  ) as Tensor[];
const elements = (tensor: Tensor): number[] => [...(tensor.contiguousArray() as Int32Array)];

describe('tiling', () => {
  test('repeats a tensor along a dimension, or along all', () => {
    expect(elements(tile('the first dimension', 2, ints(2, 2))[0])).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    expect(elements(tile('the last dimension', 2, ints(2, 2))[0])).toEqual([1, 2, 1, 2, 3, 4, 3, 4]);
    const [all] = tile('all dimensions', 2, ints(1, 2));
    expect([all.sizes, elements(all)]).toEqual([
      [1, 4],
      [1, 2, 1, 2],
    ]);
  });
  test('lengthens dimensions that have one length in all arguments', () => {
    const sizes = tile('dimensions of 3', 4, ints(2, 3), ints(3, 5), ints(5)).map((tensor) => tensor.sizes);
    expect(sizes).toEqual([[2, 12], [12, 5], [5]]);
  });
  test('gives tensors a dimension, those without dimensions too', () => {
    const [matrix, scalar] = tile('a new dimension', 2, ints(1, 2), ints());
    expect([matrix.sizes, elements(matrix)]).toEqual([
      [2, 1, 2],
      [1, 2, 1, 2],
    ]);
    expect([scalar.sizes, elements(scalar)]).toEqual([[2], [1, 1]]);
  });
  test('keeps the order in memory', () => {
    const [transposed] = tile('the first dimension', 2, ints(3, 2).asStrided([2, 3], [1, 2]));
    expect([transposed.sizes, transposed.strides]).toEqual([
      [4, 3],
      [1, 4],
    ]);
    expect(elements(transposed)).toEqual([1, 3, 5, 2, 4, 6, 1, 3, 5, 2, 4, 6]);
  });
  test('makes no two copies of a float equal', () => {
    const [copies] = tile('the first dimension', 3, Tensor.fromArray(Float32Array.of(1, -2), [2], 'float32'));
    expect(new Set(copies.contiguousArray() as Float32Array).size).toBe(6);
  });
  test('makes as many copies as the largest tensor needs', () => {
    const tensors = [ints(10, 10), ints(10)];
    const of = (name: string): number =>
      timesFor(
        tilingsFor(tensors).find((each) => each.name === name)!,
        tensors,
        900,
      );
    expect([of('the first dimension'), of('all dimensions')]).toEqual([9, 3]);
    expect(timesFor(tilingsFor(tensors)[0], [ints()], 900)).toBe(1);
  });
});
