import { scalarTypeCode } from '@cresset/ir';
import type { IValue, ScalarType, Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { run } from '../../operator-fixture.ts';

const indices = (name: string, rows: bigint, dtype: ScalarType): IValue =>
  run(`aten::${name}`, rows, 2n, 0n, BigInt(scalarTypeCode(dtype)), null, null, null);

describe.each(['tril_indices', 'triu_indices'])('%s', (name) => {
  it('are of int64 or int32', () => {
    for (const dtype of ['int64', 'int32'] as const) {
      const result = indices(name, 2n, dtype) as Tensor;
      expect([result.dtype, Array.from(result.contiguousArray() as Int32Array, Number)]).toEqual([
        dtype,
        name === 'tril_indices' ? [0, 1, 1, 0, 0, 1] : [0, 0, 1, 0, 1, 1],
      ]);
    }
  });

  it.each<[ScalarType, string]>([
    ['float32', 'Float'],
    ['bool', 'Bool'],
    ['uint8', 'Byte'],
    ['complex64', 'ComplexFloat'],
  ])('of %s are refused in the words of PyTorch, also where there are none', (dtype, shown) => {
    const refusal = `"${name}" not implemented for '${shown}'`;
    expect(() => indices(name, 2n, dtype)).toThrow(refusal);
    expect(() => indices(name, 0n, dtype)).toThrow(refusal);
  });
});
