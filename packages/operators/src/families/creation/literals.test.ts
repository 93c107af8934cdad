import {
  AnyType,
  Complex,
  FloatType,
  IntType,
  ListType,
  NoneType,
  StringType,
  TensorType,
  UnionType,
  type Type,
} from '@cresset/ir';
import { List, type IValue, type Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { literalRows } from './literals.ts';

const row = literalRows.find(({ schema }) => schema.startsWith('aten::tensor(t[]'))!;
const scalarRow = literalRows.find(({ schema }) => schema.startsWith('aten::tensor.float('))!;
const complexRow = literalRows.find(({ schema }) => schema.startsWith('aten::as_tensor.complex('))!;
const tensorOf = (type: Type, items: IValue[], dtype: bigint | null = null): Tensor =>
  row.scalar!(new List(type, items), dtype, null, false) as Tensor;

describe('torch.tensor of a list', () => {
  it('has the dtype of the elements, also where there are none', () => {
    expect(tensorOf(IntType.get(), []).dtype).toBe('int64');
    const nested = tensorOf(new ListType(IntType.get()), [new List(IntType.get(), []), new List(IntType.get(), [1n])]);
    expect([nested.dtype, nested.sizes]).toEqual(['int64', [2, 0]]);
  });

  it('takes floats by way of the default dtype', () => {
    expect(tensorOf(FloatType.get(), [0.1], 7n).contiguousArray()[0]).toBe(Math.fround(0.1));
  });

  it.each<[Type, IValue[], string]>([
    [NoneType.get(), [null], 'Input must be of ints, floats, or bools, got NoneType'],
    [StringType.get(), [], 'Input must be of ints, floats, or bools, got str'],
    [AnyType.get(), [1n], 'Input must be of ints, floats, or bools, got Any'],
    [
      TensorType.getInferred(),
      [],
      'Input must be of ints, floats, or bools, got Tensor\nEmpty lists default to List[Tensor]',
    ],
    [UnionType.create([FloatType.get(), IntType.get()]), [1n], 'Float, Complex, Int, or Bool but gotUnion(float, int)'],
  ])('refuses elements of other types: %s', (type, items, message) => {
    expect(() => tensorOf(type, items)).toThrow(message);
  });

  it('refuses rows of different lengths', () => {
    const rows = [new List(IntType.get(), [1n]), new List(IntType.get(), [1n, 2n])];
    expect(() => tensorOf(new ListType(IntType.get()), rows)).toThrow('Expected sequence of length 1 at dim 1 (got 2)');
  });
});

describe('torch.tensor of a number', () => {
  it('takes floats by way of the default dtype, whatever dtype is asked for', () => {
    const number = scalarRow.scalar!(0.7, 7n, null, false) as Tensor;
    expect([number.dtype, number.contiguousArray()[0]]).toEqual(['float64', Math.fround(0.7)]);
    expect((scalarRow.scalar!(2 ** 24 + 1.5, 4n, null, false) as Tensor).contiguousArray()[0]).toBe(16777218n);
  });

  it('takes both parts of complex numbers so', () => {
    const number = complexRow.scalar!(new Complex(0.1, 0.7), 10n, null) as Tensor;
    expect([...number.contiguousArray()]).toEqual([Math.fround(0.1), Math.fround(0.7)]);
  });
});
