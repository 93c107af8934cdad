import { expect, test } from 'vitest';
import { patternTensor, permuted, tensorOfBytes, tensorOfSpec } from '../values.ts';
import { differenceFrom } from './bench-model.ts';

const expectation = (values: number[], step = 1) => ({
  tensors: [{ shape: [2, 2], step, values }],
  rtol: 1e-3,
  atol: 1e-6,
});
const answer = (values: number[]) => [{ dtype: 'float32', shape: [2, 2], data: Float32Array.from(values) } as const];

test('an answer within the tolerance is right', () => {
  expect(differenceFrom(expectation([1, 2, 3, 4]), answer([1, 2.001, 3, 4]))).toBeNull();
  expect(differenceFrom(expectation([1, Number.NaN, Infinity, 4]), answer([1, Number.NaN, Infinity, 4]))).toBeNull();
});

test('a wrong answer is told with its element', () => {
  expect(differenceFrom(expectation([1, 2, 3, 4]), answer([1, 2, 3.1, 4]))).toBe('element 2 is 3.10000, not 3.00000');
  expect(differenceFrom(expectation([1, 2, 3, 4]), answer([1, 2, Number.NaN, 4]))).toBe(
    'element 2 is NaN, not 3.00000',
  );
  expect(differenceFrom(expectation([1, 2], 3), answer([1, 5, 5, 2]))).toBeNull();
  expect(differenceFrom(expectation([1, 2], 3), answer([1, 5, 5, 5]))).toBe('element 3 is 5.00000, not 2.00000');
});

test('an answer of another form is wrong', () => {
  const flat = [{ dtype: 'float32', shape: [4], data: Float32Array.of(1, 2, 3, 4) } as const];
  expect(differenceFrom(expectation([1, 2, 3, 4]), flat)).toBe('shape [4], not [2, 2]');
  expect(differenceFrom(expectation([1, 2, 3, 4]), [])).toBe('0 tensors, not 1');
});

test('the pattern is the one of make-expected.py', () => {
  expect([...patternTensor([3], 0).data]).toEqual([-0.13641977310180664, 0.3319404125213623, -0.4415590167045593]);
  expect([...patternTensor([2], 3, 2).data]).toEqual([0.17168188095092773, -0.2350609302520752]);
});

test('a tensor is made of a few words', () => {
  expect(tensorOfSpec({ shape: [2], seed: 3, scale: 2 })).toEqual(patternTensor([2], 3, 2));
  expect(tensorOfSpec({ shape: [3], seed: 0, below: 10 })).toEqual({
    dtype: 'int64',
    shape: [3],
    data: BigInt64Array.of(3n, 8n, 0n),
  });
  expect(tensorOfSpec({ shape: [1, 2], fill: 1, dtype: 'int64' }).data).toEqual(BigInt64Array.of(1n, 1n));
  const rows = (side: 'left' | 'right') => tensorOfSpec({ shape: [2, 3], zeros: [2, 0], side }).data;
  expect(rows('left')).toEqual(BigInt64Array.of(0n, 0n, 1n, 1n, 1n, 1n));
  expect(rows('right')).toEqual(BigInt64Array.of(1n, 0n, 0n, 1n, 1n, 1n));
});

test('axes are put in another order', () => {
  const matrix = { dtype: 'float32', shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) } as const;
  expect(permuted(matrix, [1, 0])).toEqual({
    dtype: 'float32',
    shape: [3, 2],
    data: Float32Array.of(1, 4, 2, 5, 3, 6),
  });
});

test('elements are read from their place among bytes', () => {
  const bytes = new Uint8Array(Float32Array.of(0, 1, 2, 3).buffer);
  expect(tensorOfBytes('float32', [2], bytes, 4).data).toEqual(Float32Array.of(1, 2));
  expect(() => tensorOfBytes('complex64', [2], bytes)).toThrow('the bench has no tensors of complex64');
});
