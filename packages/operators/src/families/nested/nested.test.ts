import type { NestedTensor, Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, ints, run, shown, tensor } from '../../operator-fixture.ts';

const rows = tensor(
  Array.from({ length: 12 }, (_, at) => at + 1),
  [2, 3, 2],
);
const mask = (...flags: number[]): Tensor => tensor(flags, [2, 3], 'bool');
const nested = (flags: Tensor = mask(1, 1, 0, 1, 0, 0), checks = true): NestedTensor =>
  run('aten::_nested_tensor_from_mask', rows, flags, checks) as NestedTensor;

describe('sequences of different lengths', () => {
  it('are filled up to the longest, or to given sizes', () => {
    expect(shown(run('aten::to_padded_tensor', nested(), -1, null))).toEqual([
      [2, 2, 2],
      [1, 2, 3, 4, 7, 8, -1, -1],
    ]);
    const wide = run('aten::nested_to_padded_tensor', nested(), 0, ints(2n, 3n, 3n)) as Tensor;
    expect(elements(wide)).toEqual([1, 2, 0, 3, 4, 0, 0, 0, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('are not cut off', () => {
    expect(() => run('aten::to_padded_tensor', nested(), 0, ints(2n, 1n, 2n))).toThrow('Truncation is not supported');
    expect(() => run('aten::to_padded_tensor', nested(), 0, ints(2n, 3n))).toThrow('Broadcasting is not supported');
    const none = nested(mask(0, 0, 0, 0, 0, 0));
    expect(() => run('aten::to_padded_tensor', none, 0, null)).toThrow('at least one constituent tensor');
    expect(() => run('aten::to_padded_tensor', rows, 0, null)).toThrow("from the 'CPU' backend");
  });

  it('begin at the front of a mask', () => {
    const gap = mask(1, 0, 1, 0, 1, 0);
    expect(run('aten::_nested_tensor_from_mask_left_aligned', rows, gap)).toBe(false);
    expect(run('aten::_nested_tensor_from_mask_left_aligned', rows, mask(1, 1, 0, 0, 0, 0))).toBe(true);
    expect(() => nested(gap)).toThrow('Mask must be left-aligned without gaps');
    // Unchecked, a mask only says how many there are.
    expect(elements(run('aten::to_padded_tensor', nested(gap, false), 0, null))).toEqual([1, 2, 3, 4, 7, 8, 0, 0]);
    expect(() => nested(tensor([1, 1], [2, 1], 'bool'))).toThrow('Mask size should match input size');
    expect(() => nested(tensor([1], [1], 'bool'))).toThrow('Padding mask should be 2D');
  });

  it('say what they are, and have no sizes', () => {
    expect(run('prim::is_nested', nested())).toBe(true);
    expect(run('prim::is_nested', rows)).toBe(false);
    expect([run('aten::dim', nested()), run('aten::size.int', nested(), 0n)]).toEqual([3n, 2n]);
    expect(() => run('aten::size.int', nested(), -2n)).toThrow('Given dimension 1 is irregular');
    expect(() => run('aten::size', nested())).toThrow("NestedTensorImpl doesn't support sizes");
    expect(() => run('aten::sort', nested(), 0n, false)).toThrow("NestedTensorImpl doesn't support");
  });

  it('stay of their lengths where a layer has computed with them filled up', () => {
    const doubled = tensor(
      Array.from({ length: 12 }, (_, at) => 2 * at + 2),
      [2, 3, 2],
    );
    const again = run('aten::_nested_from_padded_and_nested_example', doubled, nested());
    expect(elements(run('aten::to_padded_tensor', again, 0, null))).toEqual([2, 4, 6, 8, 14, 16, 0, 0]);
  });
});
