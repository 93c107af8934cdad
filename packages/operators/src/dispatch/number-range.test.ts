import { Complex, scalarTypeCode } from '@cresset/ir';
import { Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, ints, longs, run, tensor, tensors } from '../operator-fixture.ts';

const bytes = (): Tensor => tensor([1, 2, 3], [3], 'uint8');
const mask = tensor([1, 0, 1], [3], 'bool');
const imaginary = new Complex(0, 1);
const overflow = (type: string): string => `value cannot be converted to type ${type} without overflow`;
const number = (value: Complex): Tensor => Tensor.fromArray(Float32Array.of(value.re, value.im), [], 'complex64');

// PyTorch's answers.
describe('a number that a dtype does not have', () => {
  it.each<[string, IValue[], string]>([
    ['aten::scatter.value', [bytes(), 0n, longs(0n), 300n], 'uint8_t'],
    ['aten::scatter.value', [tensor([1, 2]), 0n, longs(0n), imaginary], 'float'],
    ['aten::scatter.value', [tensor([1, 2], [2], 'float16'), 0n, longs(0n), 1e6], 'c10::Half'],
    ['aten::index_fill.int_Scalar', [bytes(), 0n, longs(0n), 300n], 'uint8_t'],
    ['aten::index_fill.int_Tensor', [bytes(), 0n, longs(), tensor([300], [])], 'uint8_t'],
    ['aten::index_put', [bytes(), tensors(mask), tensor([300], [1]), false], 'uint8_t'],
    ['aten::index_put', [tensor([1, 2, 3]), tensors(mask), number(imaginary), false], 'float'],
    ['aten::index_put', [longs(1n, 2n, 3n), tensors(mask), number(imaginary), false], 'int64_t'],
    ['aten::clamp', [bytes(), null, 300n], 'uint8_t'],
    ['aten::clamp_min', [bytes(), 300n], 'uint8_t'],
    ['aten::hardtanh', [tensor([1], [1], 'float16'), -1e6, 1e6], 'c10::Half'],
    ['aten::threshold', [bytes(), 300n, 1n], 'uint8_t'],
    ['aten::where.ScalarOther', [mask, bytes(), 300n], 'uint8_t'],
    ['aten::constant_pad_nd', [bytes(), ints(1n, 1n), 300n], 'uint8_t'],
  ])('is refused by %s %#', (operator, args, type) => {
    expect(() => run(operator, ...args)).toThrow(overflow(type));
  });

  it('is not asked for where none is needed', () => {
    expect(elements(run('aten::scatter.value', bytes(), 0n, longs(), 300n))).toEqual([1, 2, 3]);
    expect(elements(run('aten::constant_pad_nd', bytes(), ints(0n, -1n), 300n))).toEqual([1, 2]);
    expect(
      elements(run('aten::index_put', tensor([1, 2, 3]), tensors(mask), number(new Complex(7, 0)), false)),
    ).toEqual([7, 2, 7]);
  });
});

describe('a number that becomes a tensor', () => {
  const made = (type: string, value: IValue, dtype: ScalarType): unknown[] =>
    elements(run(`aten::tensor.${type}`, value, BigInt(scalarTypeCode(dtype)), null, false));

  it('is one of its own dtype first, which is then converted', () => {
    expect(made('int', 300n, 'uint8')).toEqual([44]);
    expect(made('int', 3_000_000_000n, 'int32')).toEqual([-1294967296]);
    expect(made('complex', new Complex(2, 1.5), 'int64')).toEqual([2n]);
    expect(made('float', 0.1, 'float64')).toEqual([Math.fround(0.1)]);
    expect(() => made('float', 1e300, 'float64')).toThrow(overflow('float'));
  });
});

describe('a complex number', () => {
  it('is true where either part is not zero', () => {
    expect(elements(run('aten::tensor.complex', imaginary, BigInt(scalarTypeCode('bool')), null, false))).toEqual([1]);
    const source = Tensor.fromArray(Float32Array.of(0, 1, 0, 0, 2, 0), [3], 'complex64');
    expect(elements(run('aten::copy_', tensor([0, 1, 0], [3], 'bool'), source, false))).toEqual([1, 0, 1]);
  });
});

describe('the dtype that a norm or a sum is asked for', () => {
  const norm = (self: Tensor, dtype: ScalarType): IValue =>
    run('aten::linalg_vector_norm', self, 2n, null, false, BigInt(scalarTypeCode(dtype)));
  const doubles = tensor([1, 2], [2], 'float64');
  const complexes = Tensor.empty([2], 'complex64');

  it('is real as the input is, and no narrower', () => {
    expect(() => norm(tensor([1, 2]), 'complex64')).toThrow(
      'linalg.vector_norm: dtype should be real for real inputs, but got ComplexFloat',
    );
    expect(() => norm(complexes, 'float32')).toThrow('dtype should be complex for complex inputs, but got Float');
    expect(() => norm(doubles, 'int64')).toThrow('dtype should be floating point or complex, but got Long');
    expect(() => norm(doubles, 'float32')).toThrow(
      'the dtype of the input (Double) should be convertible without narrowing to the specified dtype (Float)',
    );
    expect(() => norm(longs(1n), 'float32')).toThrow('Expected a floating point or complex tensor as input. Got Long');
    expect((norm(complexes, 'complex128') as Tensor).dtype).toBe('float64');
  });

  it('is not complex where NaN is left out', () => {
    const sum = (self: Tensor): IValue => run('aten::nansum', self, null, false, BigInt(scalarTypeCode('complex64')));
    expect(() => sum(tensor([1, NaN]))).toThrow(`"nansum_cpu" not implemented for 'ComplexFloat'`);
    expect((sum(longs(1n, 2n)) as Tensor).dtype).toBe('complex64');
  });
});
