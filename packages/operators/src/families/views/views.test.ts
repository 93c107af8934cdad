import { describe, expect, it } from 'vitest';
import { ints, runAll, run, tensor, tensors } from '../../operator-fixture.ts';
import type { IValue, List } from '@cresset/tensor';

const matrix = tensor([1, 2, 3, 4], [2, 2]);

// PyTorch's answers: what gives the tensor itself gives no other one over its storage, so that `out=` and `resize_` reach it.
describe('a view that changes nothing', () => {
  it('is the tensor itself for operators that say so', () => {
    const vector = tensor([1, 2, 3]);
    const itself: [string, ...IValue[]][] = [
      ['aten::flatten.using_ints', vector, 0n, -1n],
      ['aten::flatten.using_ints', matrix, 1n, 1n],
      ['aten::atleast_1d', vector],
      ['aten::atleast_2d', matrix],
      ['aten::real', vector],
      ['aten::conj', vector],
      ['aten::positive', vector],
      ['aten::contiguous', vector, 0n],
      ['aten::sum_to_size', vector, ints(3n)],
    ];
    for (const [operator, self, ...others] of itself) expect(run(operator, self, ...others), operator).toBe(self);
    const [list] = runAll('aten::broadcast_tensors', tensors(vector, tensor([1])));
    expect((list as List).items[0]).toBe(vector);
  });

  it('is another one for the rest', () => {
    const vector = tensor([1, 2, 3]);
    const others: [string, ...IValue[]][] = [
      ['aten::flatten.using_ints', matrix, 0n, -1n],
      ['aten::flatten.using_ints', tensor([1], []), 0n, -1n],
      ['aten::ravel', vector],
      ['aten::reshape', vector, ints(3n)],
      ['aten::view', vector, ints(3n)],
      ['aten::squeeze', vector],
      ['aten::expand', vector, ints(3n), false],
      ['aten::permute', vector, ints(0n)],
      ['aten::detach', vector],
      ['aten::sum_to_size', tensor([1], []), ints()],
    ];
    for (const [operator, self, ...rest] of others) expect(run(operator, self, ...rest), operator).not.toBe(self);
  });
});
