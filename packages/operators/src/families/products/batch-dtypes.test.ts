import { Tensor, type ScalarType } from '@cresset/tensor';
import { expect, it } from 'vitest';
import { run } from '../../operator-fixture.ts';

const zeros = (sizes: readonly number[], dtype: ScalarType): Tensor => Tensor.empty(sizes, dtype);

// Which routine multiplies a batch, and so what it says, is PyTorch's choice by size, dtype and layout.
it.each<[ScalarType, ScalarType, string, string, string]>([
  [
    'float32',
    'float16',
    'expected scalar type Float but found Half',
    'expected m1 and m2 to have the same dtype, but got: float != c10::Half',
    'mat1 and mat2 must have the same dtype, but got Float and Half',
  ],
  [
    'float16',
    'float32',
    'expected scalar type Half but found Float',
    'expected scalar type Float but found Half',
    'expected scalar type Float but found Half',
  ],
  [
    'bool',
    'bool',
    "not implemented for 'Bool'",
    '"addmm_impl_cpu_" not implemented for \'Bool\'',
    '"addmm_impl_cpu_" not implemented for \'Bool\'',
  ],
])(
  'batches of %s and %s are refused in the words of the routine that would multiply them',
  (a, b, small, large, added) => {
    const operands = (n: number): [Tensor, Tensor] => [zeros([2, n, n], a), zeros([2, n, n], b)];
    expect(() => run('aten::bmm', ...operands(2))).toThrow(small);
    expect(() => run('aten::bmm', ...operands(30))).toThrow(large);
    expect(() => run('aten::matmul', ...operands(30))).toThrow(large);
    expect(() => run('aten::baddbmm', zeros([1], a), ...operands(2), 1n, 1n)).toThrow(small);
    expect(() => run('aten::baddbmm', zeros([1], a), ...operands(30), 1n, 1n)).toThrow(added);
  },
);

it('matrices that are neither rows nor columns in memory are multiplied one by one', () => {
  const spaced = zeros([2, 30, 60], 'float32').asStrided([2, 30, 30], [1800, 60, 2], 0);
  const message = 'expected m1 and m2 to have the same dtype, but got: c10::Half != float';
  expect(() => run('aten::bmm', zeros([2, 30, 30], 'float16'), spaced)).toThrow(message);
});

it('products of nothing have the dtype on the right', () => {
  expect((run('aten::bmm', zeros([2, 3, 0], 'float32'), zeros([2, 0, 4], 'float16')) as Tensor).dtype).toBe('float16');
});
