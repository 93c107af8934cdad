import { FloatType, IntType, ListType, type Type } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { tensorToList } from './tensor-to-list.ts';

const listOf = (element: Type): ListType => new ListType(element);

describe('tensorToList', () => {
  it('refuses other elements before another number of dimensions, and names both', () => {
    const words = 'Output annotation element type and runtime tensor element type must match for tolist(): ';
    expect(() => tensorToList(Tensor.empty([2], 'int64'), listOf(FloatType.get()))).toThrow(`${words}Float vs Long`);
    expect(() => tensorToList(Tensor.empty([2], 'int32'), listOf(IntType.get()))).toThrow(`${words}Long vs Int`);
    expect(() => tensorToList(Tensor.empty([2, 2], 'float32'), listOf(IntType.get()))).toThrow(`${words}Long vs Float`);
    expect(() => tensorToList(Tensor.empty([2, 2], 'int64'), listOf(IntType.get()))).toThrow(
      /list dimension and runtime/,
    );
  });
});
