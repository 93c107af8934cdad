import { isIntegral, numelOf, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { run } from '../../operator-fixture.ts';

const ones = (dtype: ScalarType, ...sizes: number[]): Tensor => {
  const count = numelOf(sizes);
  const values =
    dtype === 'int64'
      ? new BigInt64Array(count).fill(1n)
      : dtype === 'int32'
        ? new Int32Array(count).fill(1)
        : new Uint8Array(count).fill(1);
  return Tensor.fromArray(values, sizes, dtype);
};

const attend = (query: Tensor, key = query, mask: Tensor | null = null): IValue =>
  run('aten::scaled_dot_product_attention', query, key, query, mask, 0, false, null, false);

// Messages are PyTorch's.
describe('attention', () => {
  it.each<[ScalarType, string]>([
    ['int64', 'Long'],
    ['int32', 'Int'],
    ['uint8', 'Byte'],
    ['bool', 'Bool'],
  ])('refuses %s, which its scores are not multiplied with', (dtype, name) => {
    const query = ones(dtype, 2, 3, 4);
    expect(() => attend(query)).toThrow(`expected scalar type Float but found ${name}`);
    expect(() => attend(ones(dtype, 2, 3, 0))).toThrow(`expected scalar type Float but found ${name}`);
    const masked = (): IValue => attend(query, query, ones('bool', 3, 3));
    if (isIntegral(dtype, false)) expect(masked).toThrow(/^value cannot be converted to type \w+ without overflow$/);
    else expect(masked).toThrow('expected scalar type Float but found Bool');
  });

  it('refuses sizes that do not fit first, and matrices in words of their own', () => {
    expect(() => attend(ones('int64', 2, 3, 4), ones('int64', 2, 3, 5))).toThrow('Expected size for first two');
    expect(() => attend(ones('int64', 3, 4))).toThrow(
      'expected m1 and m2 to have the same dtype, but got: float != long int',
    );
  });

  it('of no sequences takes any dtype', () => {
    const result = attend(ones('int64', 0, 3, 4)) as Tensor;
    expect([result.dtype, result.sizes]).toEqual(['int64', [0, 3, 4]]);
  });
});
