import type { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, run, tensor, tensors } from '../../operator-fixture.ts';

const put = (self: Tensor, index: Tensor, values: Tensor): unknown[] =>
  elements(run('aten::index_put', self, tensors(index), values, false));

// PyTorch's answers: one number put where a mask holds is `masked_fill_`.
describe('index_put of one number', () => {
  it('takes a mask without dimensions for all elements', () => {
    const self = tensor([1, 2, 3], [3], 'float32');
    expect(put(self, tensor([1], [], 'bool'), tensor([7], [], 'float32'))).toEqual([7, 7, 7]);
    expect(put(self, tensor([0], [], 'bool'), tensor([7], [], 'float32'))).toEqual([1, 2, 3]);
  });

  it('converts the number to the dtype of the tensor', () => {
    const self = tensor([1, 2, 3], [3], 'int64');
    expect(put(self, tensor([1, 0, 1], [3], 'bool'), tensor([2.7], [], 'float32'))).toEqual([2n, 2n, 2n]);
    expect(put(self, tensor([1, 0, 1], [3], 'bool'), tensor([2.7], [1, 1], 'float32'))).toEqual([2n, 2n, 2n]);
  });

  it('takes no bytes for a mask, and no mask of a tensor without dimensions', () => {
    const one = tensor([7], [], 'float32');
    expect(() => put(tensor([1, 2], [2], 'float32'), tensor([1, 0], [2], 'uint8'), one)).toThrow(
      'masked_fill_ only supports boolean masks, but got mask with dtype unsigned char',
    );
    expect(() => put(tensor([1], [], 'float32'), tensor([1], [], 'bool'), one)).toThrow(
      'too many indices for tensor of dimension 0',
    );
  });

  it('converts nothing that is put by position', () => {
    expect(() => put(tensor([1, 2], [2], 'float32'), tensor([1], [1], 'int64'), tensor([3], [], 'int64'))).toThrow(
      'Index put requires the source and destination dtypes match, got Float for the destination and Long for the source.',
    );
  });
});
