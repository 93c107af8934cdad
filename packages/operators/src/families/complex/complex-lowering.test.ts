import { Tensor, type IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, run, tensor, tensors } from '../../operator-fixture.ts';
import { viewAsReal } from '../../kernels/copy.ts';
import { runLowered } from '../../oracle/run-lowered.ts';
import { registerAllOperators } from '../../register-all.ts';
import { findRow } from '../../table/register.ts';

registerAllOperators();

const complexOnes = (...parts: number[]): Tensor =>
  Tensor.fromArray(Float32Array.from(parts), [parts.length / 2], 'complex64');
const parts = (value: IValue): number[] => elements(viewAsReal(value as Tensor)).map(Number);

function lowered(name: string, ...args: IValue[]): Tensor {
  const [base, overload = ''] = name.split('.');
  return runLowered(findRow(`aten::${base}`, overload)!, args)[0];
}

const real = tensor([1, 2]);
const whole = tensor([3, 4], [2], 'int32');
const truth = tensor([1, 0], [2], 'bool');
const other = complexOnes(5, 6, 7, 8);
const places = tensor([0, 1], [2], 'int64');
const one = tensor([9], []);

/** What is joined, written or added up with complex numbers though it is real. */
const mixed: readonly (readonly [name: string, args: readonly IValue[], parts: readonly number[]])[] = [
  ['cat', [tensors(real, other), 0n], [1, 0, 2, 0, 5, 6, 7, 8]],
  ['cat', [tensors(other, whole, truth), 0n], [5, 6, 7, 8, 3, 0, 4, 0, 1, 0, 0, 0]],
  ['stack', [tensors(whole, other), 1n], [3, 0, 5, 6, 4, 0, 7, 8]],
  ['hstack', [tensors(other, real)], [5, 6, 7, 8, 1, 0, 2, 0]],
  ['block_diag', [tensors(real, other)], [1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7, 8]],
  ['select_scatter', [other, one, 0n, 1n], [5, 6, 9, 0]],
  ['index_fill.int_Tensor', [other, 0n, tensor([0], [1], 'int64'), one], [9, 0, 7, 8]],
  ['fill.Tensor', [other, one], [9, 0, 9, 0]],
  ['gather', [other, 0n, places, false], [5, 6, 7, 8]],
  ['cumsum', [real, 0n, 9n], [1, 0, 3, 0]],
  ['sum', [whole, 9n], [7, 0]],
];

describe('complex numbers on a device', () => {
  it.each(mixed)('have no imaginary part where %s takes real ones %#', (name, args, want) => {
    expect(parts(run(`aten::${name}`, ...args))).toEqual(want);
    expect(parts(lowered(name, ...args))).toEqual(want);
  });

  it('leave their imaginary part behind where they are written to real ones', () => {
    expect(elements(lowered('select_scatter', real, complexOnes(5, 6).asStrided([], []), 0n, 1n))).toEqual([1, 5]);
    expect(elements(lowered('fill.Tensor', real, complexOnes(5, 6).asStrided([], [])))).toEqual([5, 5]);
    expect(elements(run('aten::fill.Tensor', real, complexOnes(5, 6).asStrided([], [])))).toEqual([5, 5]);
  });

  it('are divided after they were multiplied, so that infinities stay', () => {
    const args = [complexOnes(0, 0), complexOnes(1, 2), complexOnes(0, 0), 1n] as const;
    expect(parts(run('aten::addcdiv', ...args))).toEqual([Infinity, Infinity]);
  });

  it('are not zero where either part is not', () => {
    const some = complexOnes(0, 0, 0, 2, 1, 0);
    expect(elements(run('aten::nonzero', some)).map(Number)).toEqual([1, 2]);
    expect(elements(run('aten::nonzero', some.asStrided([2], [1], 1))).map(Number)).toEqual([0, 1]);
  });

  it('make zero to a power infinite, zero or no number', () => {
    const powers = (exponent: IValue): number[][] => {
      const args = [complexOnes(0, 0, 0, 1), exponent] as const;
      return [parts(run('aten::pow.Tensor_Scalar', ...args)), parts(lowered('pow.Tensor_Scalar', ...args))];
    };
    for (const [re, im] of powers(-1n)) expect([re, im]).toEqual([Infinity, NaN]);
    for (const [re, im] of powers(2n)) expect([re, im]).toEqual([0, 0]);
  });
});
