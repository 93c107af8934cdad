import { IntType, TensorType } from '@cresset/ir';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { fixedGenerator, runAll } from '../operator-fixture.ts';
import { findRow } from '../table/register.ts';
import { computeCallOnHost, OperatorCall } from './invoke.ts';
import type { PreparedCall } from './call-preparation.ts';
import { prepareCall } from './prepared-call.ts';
import { giveMemory } from './spare-memory.ts';

const context = { gradEnabled: false, generator: fixedGenerator, print: () => undefined, warn: () => undefined };
const floats = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');

function prepared(operator: string, ...args: IValue[]): PreparedCall {
  const [name, overload = ''] = operator.split('.');
  runAll('aten::neg', floats(1));
  const call = prepareCall(new OperatorCall(findRow(name, overload)!, args));
  if (!call) throw new Error(`${operator} is not made ready`);
  return call;
}

const longs = (...values: bigint[]): Tensor => Tensor.fromArray(BigInt64Array.from(values), [values.length], 'int64');
const ints = (...items: bigint[]): List => new List(IntType.get(), items);
const tensors = (...items: Tensor[]): List => new List(TensorType.get(), items);

/** 3 × 4. */
const matrix = (seed: number): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: 12 }, (_, at) => at + seed / 8),
    [3, 4],
    'float32',
  );

const numbers = (value: IValue | undefined): number[] => Array.from((value as Tensor).contiguousArray(), Number);

describe('a prepared call', () => {
  it('computes with other elements of the same layouts', () => {
    const call = prepared('aten::sub.Tensor', floats(1, 2), floats(3, 5), 2n);
    expect(numbers(call.run([floats(1, 2), floats(3, 5), 2n], context))).toEqual([-5, -8]);
    expect(numbers(call.run([floats(10, 20), floats(1, 2), 2n], context))).toEqual([8, 16]);
  });

  it('takes views where they lie', () => {
    const matrix = Tensor.fromArray(Float32Array.of(1, 2, 3, 4), [2, 2], 'float32');
    const transposed = matrix.asStrided([2, 2], [1, 2]);
    const call = prepared('aten::mul.Tensor', matrix, transposed);
    expect(numbers(call.run([matrix, transposed], context))).toEqual([1, 6, 6, 16]);
    const row = matrix.asStrided([1, 2], [2, 1], 2);
    expect(numbers(prepared('aten::add.Tensor', matrix, row, 1n).run([matrix, row, 1n], context))).toEqual([
      4, 6, 6, 8,
    ]);
  });

  it('takes another float as the other operand, and no int', () => {
    const call = prepared('aten::mul.Scalar', floats(1, 2), 0.5);
    expect(numbers(call.run([floats(1, 2), 0.25], context))).toEqual([0.25, 0.5]);
    expect(call.run([floats(1, 2), 2n], context)).toBeUndefined();
  });

  it.each<[string, IValue[]]>([
    ['sizes', [floats(1, 2, 3), floats(1, 2, 3), 1n]],
    ['a dtype', [floats(1, 2), Tensor.fromArray(Float64Array.of(1, 2), [2], 'float64'), 1n]],
    ['strides', [floats(1, 2), floats(1, 2, 3, 4).asStrided([2], [2]), 1n]],
    ['a number', [floats(1, 2), floats(1, 2), 3n]],
    ['a number of another type', [floats(1, 2), floats(1, 2), 1]],
  ])('leaves %s of another kind alone', (_, args) => {
    expect(prepared('aten::add.Tensor', floats(1, 2), floats(3, 4), 1n).run(args, context)).toBeUndefined();
  });

  it('leaves lists of other lengths alone', () => {
    const call = prepared('aten::cat', tensors(floats(1), floats(2)), 0n);
    expect(numbers(call.run([tensors(floats(3), floats(4)), 0n], context))).toEqual([3, 4]);
    expect(call.run([tensors(floats(3)), 0n], context)).toBeUndefined();
    const sum = prepared('aten::sum.dim_IntList', floats(1, 2), ints(0n), false, null);
    expect(numbers(sum.run([floats(3, 4), ints(0n), false, null], context))).toEqual([7]);
    expect(sum.run([floats(3, 4), ints(), false, null], context)).toBeUndefined();
  });

  it('writes in place, but not where operands may overlap', () => {
    const memory = floats(1, 2, 3, 4);
    const [front, back] = [memory.asStrided([2], [1]), memory.asStrided([2], [1], 2)];
    const call = prepared('aten::add_.Tensor', floats(1, 2), floats(1, 2), 1n);
    const target = floats(5, 6);
    expect(call.run([target, floats(1, 1), 1n], context)).toBe(target);
    expect(numbers(target)).toEqual([6, 7]);
    expect(numbers(call.run([target, target, 1n], context))).toEqual([12, 14]);
    expect(call.run([front, back, 1n], context)).toBeUndefined();
  });

  it('writes what a kernel makes into its target, but not where the source may overlap', () => {
    const memory = floats(1, 2, 3, 4);
    const [front, back] = [memory.asStrided([2], [1]), memory.asStrided([2], [1], 2)];
    const call = prepared('aten::copy_', front, floats(7, 8), false);
    expect(call.run([front, floats(5, 6), false], context)).toBe(front);
    expect(numbers(memory)).toEqual([5, 6, 3, 4]);
    expect(call.run([front, back, false], context)).toBeUndefined();
    expect(numbers(memory)).toEqual([5, 6, 3, 4]);
    const repeated = floats(1).asStrided([2], [0]);
    expect(prepareCall(new OperatorCall(findRow('aten::copy_', '')!, [repeated, floats(1, 2), false]))).toBeNull();
  });

  it.each<[string, (seed: number) => IValue[]]>([
    ['aten::pad', (seed) => [matrix(seed), ints(1n, 2n, -1n, 1n), 'constant', 7.5]],
    ['aten::pad', (seed) => [matrix(seed), ints(2n, 1n), 'reflect', null]],
    ['aten::pad', (seed) => [matrix(seed).asStrided([1, 3, 2], [0, 1, 4]), ints(1n, 1n), 'circular', null]],
    ['aten::cat', (seed) => [tensors(matrix(seed), matrix(seed + 1), matrix(seed).asStrided([1, 4], [4, 1], 4)), 0n]],
    ['aten::cat', (seed) => [tensors(matrix(seed), matrix(seed).asStrided([3, 4], [1, 3])), 1n]],
    ['aten::cat', (seed) => [tensors(floats(seed), Tensor.fromArray(Int32Array.of(seed), [1], 'int32')), 0n]],
    ['aten::stack', (seed) => [tensors(matrix(seed), matrix(seed + 3)), 2n]],
    ['aten::flip', (seed) => [matrix(seed), ints(0n, 1n)]],
    ['aten::repeat', (seed) => [matrix(seed), ints(2n, 1n, 3n)]],
    ['aten::contiguous', (seed) => [matrix(seed).asStrided([4, 3], [1, 4]), 0n]],
    ['aten::reshape', (seed) => [matrix(seed).asStrided([4, 3], [1, 4]), ints(12n)]],
    [
      'aten::to.dtype',
      (seed) => [Tensor.fromArray(Uint8Array.of(seed % 2, 1, 0), [3], 'bool'), 6n, false, false, null],
    ],
    ['aten::to.dtype', (seed) => [longs(BigInt(seed), 2n ** 40n), 6n, false, false, null]],
  ])('moves what others have moved: %s', (operator, make) => {
    const call = prepared(operator, ...make(0));
    const [name, overload = ''] = operator.split('.');
    let into: IValue | undefined;
    for (let seed = 1; seed < 6; seed++) {
      const args = make(seed);
      const [want] = computeCallOnHost(new OperatorCall(findRow(name, overload)!, args), context) as Tensor[];
      const got = call.run(args, context, into) as Tensor;
      expect([got.sizes, got.strides, got.dtype]).toEqual([want.sizes, want.strides, want.dtype]);
      expect(numbers(got)).toEqual(numbers(want));
      // The first two show how.
      expect(got === into).toBe(seed > 2);
      into = got;
    }
  });

  it('moves into memory that nobody had before, where that is asked for', () => {
    const args = [tensors(floats(1, 2), floats(3)), 0n];
    const call = prepareCall(new OperatorCall(findRow('aten::cat', '')!, args), null)!;
    for (let round = 0; round < 4; round++) {
      const spare = floats(0, 0, 0);
      giveMemory(spare);
      const got = call.run(args, context) as Tensor;
      expect(numbers(got)).toEqual([1, 2, 3]);
      expect(got.storage.serial).toBeGreaterThan(spare.storage.serial);
    }
  });

  it.each([3n, 5n, 11n])('leaves conversions to dtype %s to the kernel', (dtype) => {
    const args = (seed: number): IValue[] => [floats(seed + 0.75, -seed - 0.5, 0), dtype, false, false, null];
    const call = prepared('aten::to.dtype', ...args(0));
    for (let seed = 1; seed < 5; seed++) {
      const want = runAll('aten::to.dtype', ...args(seed))[0] as Tensor;
      expect(numbers(call.run(args(seed), context))).toEqual(numbers(want));
    }
  });

  it('goes on with bigints where an int64 needs them', () => {
    const call = prepared('aten::add.Tensor', longs(1n), longs(2n), 1n);
    expect((call.run([longs(1n), longs(2n), 1n], context) as Tensor).contiguousArray()[0]).toBe(3n);
    const large = [longs(2n ** 62n), longs(2n ** 62n), 1n];
    expect((call.run(large, context) as Tensor).contiguousArray()[0]).toBe(-(2n ** 63n));
    expect((call.run([longs(1n), longs(2n), 1n], context) as Tensor).contiguousArray()[0]).toBe(3n);
  });

  it("throws the operator's error when it is made", () => {
    expect(() => prepared('aten::add.Tensor', floats(1, 2), floats(1, 2, 3), 1n)).toThrow('must match the size');
  });

  it('is not made for tensors that lie elsewhere, nor for what makes views', () => {
    expect(prepareCall(new OperatorCall(findRow('aten::t', '')!, [floats(1)]))).toBeNull();
  });

  it('is not made for sequences of different lengths, which have no sizes', () => {
    const padded = Tensor.fromArray(Float32Array.of(1, 2), [1, 2, 1], 'float32');
    const mask = Tensor.fromArray(Uint8Array.of(1, 0), [1, 2], 'bool');
    const [nested] = runAll('aten::_nested_tensor_from_mask', padded, mask, true);
    expect(prepareCall(new OperatorCall(findRow('aten::relu', '')!, [nested]))).toBeNull();
  });
});
