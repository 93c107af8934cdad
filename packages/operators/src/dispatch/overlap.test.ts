import type { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, longs, run, shown, tensor, tensors } from '../operator-fixture.ts';

const meets =
  'unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location';
const isOne =
  'unsupported operation: more than one element of the written-to tensor refers to a single memory location';
const expanded = (dtype: 'float32' | 'float16' | 'int64' = 'float32'): Tensor =>
  tensor([0], [1], dtype).asStrided([3], [0]);
const part = (of: Tensor, from: number, size: number): Tensor => of.asStrided([size], [1], from);

// PyTorch's answers.
describe('out= that is an input too', () => {
  it('is not resized', () => {
    const out = tensor([1]);
    expect(() => run('aten::mul.out', tensor([1, 1]), out, out)).toThrow(
      "output with shape [1] doesn't match the broadcast shape [2]",
    );
    const other = tensor([1], [1], 'int64');
    expect(() => run('aten::add.out', tensor([1, 1]), other, 1n, other)).toThrow("output with shape [1] doesn't match");
    expect(out.sizes).toEqual([1]);
  });

  it('is resized where it only looks at the same memory', () => {
    const own = tensor([3]);
    const out = part(own, 0, 1);
    run('aten::mul.out', tensor([1, 2]), own, out);
    expect(shown(out)).toEqual([[2], [3, 6]]);
  });

  it('is read before it is written where it is a column of what is', () => {
    const before = Array.from({ length: 2002 }, (_, at) => at % 7);
    const rows = tensor(before).asStrided([2, 1001], [1001, 1]);
    const column = rows.asStrided([2, 1], [1001, 1], 333);
    run('aten::add_.Tensor', rows, column, 1n);
    const wanted = before.map((each, at) => each + before[at < 1001 ? 333 : 1334]);
    expect([...rows.contiguousArray()]).toEqual(wanted);
  });

  it('is refused by what moves elements', () => {
    const own = tensor([1, 2, 3]);
    expect(() => run('aten::cat.out', tensors(own), 0n, own)).toThrow(meets);
    expect(() => run('aten::index_add_', own, 0n, longs(0n, 1n, 2n), own, 1n)).toThrow(meets);
    expect(() => run('aten::index_copy_', own, 0n, longs(0n, 1n, 2n), own)).toThrow(meets);
    expect(() => run('aten::put_', own, longs(0n, 1n, 2n), own, false)).toThrow(meets);
    expect(() => run('aten::index_put_', own, tensors(longs(0n, 1n, 2n)), own, false)).toThrow(meets);
    const positions = longs(0n, 1n, 2n);
    expect(() => run('aten::scatter_.src', positions, 0n, positions, positions)).toThrow(meets);
    expect(() => run('aten::index_fill_.int_Scalar', positions, 0n, positions, 5n)).toThrow(meets);
    expect(() => run('aten::nonzero.out', positions, positions)).toThrow(meets);
  });

  it('is written where only its positions are there', () => {
    const positions = longs(0n, 1n, 2n);
    expect(elements(run('aten::gather.out', longs(3n, 4n, 5n), 0n, positions, false, positions))).toEqual([3n, 4n, 5n]);
  });
});

describe('a number that lies in the tensor which is written', () => {
  it('is put where a mask holds, and at positions', () => {
    const own = tensor([1, 2, 3, 4]);
    const mask = tensor([0, 0, 1, 1], [4], 'bool');
    run('aten::index_put_', own, tensors(mask), own.asStrided([], [], 1), false);
    expect(elements(own)).toEqual([1, 2, 2, 2]);
    run('aten::masked_fill_.Tensor', own, mask, own.asStrided([], []));
    expect(elements(own)).toEqual([1, 2, 1, 1]);
    run('aten::index_fill_.int_Tensor', own, 0n, longs(0n), own.asStrided([], [], 1));
    expect(elements(own)).toEqual([2, 2, 1, 1]);
    run('aten::fill_.Tensor', own, own.asStrided([], [], 3));
    expect(elements(own)).toEqual([1, 1, 1, 1]);
  });
});

describe('a tensor with expanded dimensions', () => {
  const mask = tensor([0, 1, 0], [3], 'bool');

  it('is filled in part', () => {
    for (const dtype of ['float32', 'float16', 'int64'] as const) {
      const number = dtype === 'int64' ? 2n : 2;
      expect(elements(run('aten::index_fill_.int_Scalar', expanded(dtype), 0n, longs(1n), 2n))).toEqual([
        number,
        number,
        number,
      ]);
      expect(elements(run('aten::masked_fill_.Scalar', expanded(dtype), mask, 2n))).toEqual([number, number, number]);
    }
    expect(elements(run('aten::masked_fill_.Tensor', expanded(), mask, tensor([2], [])))).toEqual([2, 2, 2]);
    expect(elements(run('aten::zero_', tensor([1]).asStrided([3], [0])))).toEqual([0, 0, 0]);
    expect(elements(run('aten::threshold_', expanded(), 1n, 2n))).toEqual([2, 2, 2]);
  });

  it('is written at positions, one after the other', () => {
    const put = (positions: Tensor, values: Tensor, accumulate: boolean): unknown =>
      elements(run('aten::index_put_', expanded(), tensors(positions), values, accumulate));
    expect(put(longs(1n, 2n), tensor([5, 6]), false)).toEqual([6, 6, 6]);
    expect(put(longs(1n, 2n), tensor([5, 6]), true)).toEqual([11, 11, 11]);
    expect(put(mask, tensor([3]), false)).toEqual([3, 3, 3]);
  });

  it('is refused by everything else', () => {
    const one = tensor([1]);
    const at = longs(1n);
    expect(() => run('aten::index_add_', expanded(), 0n, at, one, 1n)).toThrow(isOne);
    expect(() => run('aten::index_copy_', expanded(), 0n, at, one)).toThrow(isOne);
    expect(() => run('aten::scatter_.src', expanded(), 0n, at, one)).toThrow(isOne);
    expect(() => run('aten::scatter_.value', expanded(), 0n, at, 2n)).toThrow(isOne);
    expect(() => run('aten::put_', expanded(), at, one, false)).toThrow(isOne);
    expect(() => run('aten::masked_scatter_', expanded(), mask, tensor([1, 1, 1]))).toThrow(isOne);
    expect(() => run('aten::fill_.Tensor', expanded(), tensor([3], []))).toThrow(isOne);
    expect(() => run('aten::add_.Tensor', expanded(), one, 1n)).toThrow(isOne);
    expect(() => run('aten::dropout_', expanded(), 0.5, true)).toThrow(isOne);
  });
});
