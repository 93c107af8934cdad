import { Tensor } from '@cresset/tensor';
import { expect, it } from 'vitest';
import { offsetsOf } from './views.ts';
import { positionsFor } from './positions.ts';
import { run } from '../operator-fixture.ts';

it('offsets beyond 32 bits are what they are', () => {
  expect(Array.from(offsetsOf([2, 2], [3_000_000_000, 1], 5))).toEqual([5, 6, 3_000_000_005, 3_000_000_006]);
  expect(offsetsOf([2, 2], [2, 1])).toBeInstanceOf(Int32Array);
});

it('elements that positions of 32 bits do not reach are refused', () => {
  expect(() => positionsFor(2 ** 31 + 1)).toThrow('2147483649 elements are more than this operator counts');
  const line = Tensor.empty([1], 'uint8').asStrided([2 ** 31 + 1], [0]);
  expect(() => run('aten::topk', line, 1n, 0n, true, true)).toThrow('are more than this operator counts');
});
