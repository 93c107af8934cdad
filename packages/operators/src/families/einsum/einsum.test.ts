import type { IValue, Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, ints, run, tensor, tensors } from '../../operator-fixture.ts';
import { runLowered } from '../../oracle/run-lowered.ts';
import { registerAllOperators } from '../../register-all.ts';
import { findRow } from '../../table/register.ts';

registerAllOperators();

const onHost = (...args: IValue[]): Tensor => run('aten::einsum', ...args) as Tensor;
const lowered = (...args: IValue[]): Tensor => runLowered(findRow('aten::einsum', '')!, args)[0];

const small = tensor([1, 2, 3], [3], 'int32');
const truth = tensor([1, 0, 1], [3], 'bool');
const float = tensor([0.5, 1.5, 2.5]);
const wide = tensor([10, 20, 30], [3], 'int64');
const grid = tensor([1, 2, 3, 4, 5, 6], [2, 3], 'int32');

// Results and words are PyTorch's.
const mixed: readonly (readonly [
  equation: string,
  operands: readonly Tensor[],
  dtype: string,
  values: readonly number[],
])[] = [
  ['i,i->i', [small, float], 'float32', [0.5, 3, 7.5]],
  ['i,i->i', [truth, small], 'int32', [1, 0, 3]],
  ['i,i->i', [small, wide], 'int64', [10, 40, 90]],
  ['i,j->ij', [truth, float], 'float32', [0.5, 1.5, 2.5, 0, 0, 0, 0.5, 1.5, 2.5]],
  ['ij->i', [grid], 'int64', [6, 15]],
  ['ij->ji', [grid], 'int32', [1, 4, 2, 5, 3, 6]],
  ['i->', [truth], 'int64', [2]],
  // What only one operand has is summed up before, and is an int64 then.
  ['ij,k->k', [grid, small], 'int64', [21, 42, 63]],
  ['ij,k->k', [grid, float], 'float32', [10.5, 31.5, 52.5]],
  ['i,i,i->i', [small, truth, float], 'float32', [0.5, 0, 7.5]],
  ['ij,j->i', [grid, small], 'int32', [14, 32]],
];

describe.each([
  ['the host', onHost],
  ['devices', lowered],
])('einsum on %s', (_, einsum) => {
  it.each(mixed)('of operands of several dtypes: %s %#', (equation, operands, dtype, values) => {
    const result = einsum(equation, tensors(...operands), null);
    expect([result.dtype, elements(result).map(Number)]).toEqual([dtype, values]);
  });

  it('multiplies matrices of one dtype only', () => {
    expect(() => einsum('i,i->', tensors(small, float), null)).toThrow('expected scalar type Int but found Float');
    expect(() => einsum('ij,jk->k', tensors(grid, tensor([1, 2, 3], [3, 1], 'int32')), null)).toThrow(
      'expected scalar type Long but found Int',
    );
    expect(() => einsum('i,i->', tensors(truth, truth), null)).toThrow('"bmm" not implemented for \'Bool\'');
  });

  it('goes by a path', () => {
    const [a, b, c] = [grid, tensor([1, 2, 3, 4, 5, 6], [3, 2], 'int32'), tensor([1, 2], [2], 'int32')];
    const result = einsum('ij,jk,k->i', tensors(a, b, c), ints(1n, 2n, 0n, 1n));
    expect([result.dtype, elements(result).map(Number)]).toEqual(['int32', [78, 177]]);
  });
});

describe.each([
  ['the host', (...args: IValue[]) => run('aten::einsum.sublist', ...args) as Tensor],
  ['devices', (...args: IValue[]) => runLowered(findRow('aten::einsum', 'sublist')!, args)[0]],
])('einsum of lists of dimensions on %s', (_, einsum) => {
  const [a, b] = [grid, tensor([1, 2, 3, 4, 5, 6], [3, 2], 'int32')];

  it('sums up what the last list has not, or what operands share', () => {
    expect(elements(einsum(a, ints(0n, 1n), b, ints(1n, 2n))).map(Number)).toEqual([22, 28, 49, 64]);
    // Without a list for the result capitals come first: 0 is `A`, 26 is `a`.
    expect(elements(einsum(a, ints(26n, 1n), b, ints(1n, 0n))).map(Number)).toEqual([22, 49, 28, 64]);
    expect(elements(einsum(a, ints(51n, 1n), b, ints(1n, 51n), ints())).map(Number)).toEqual([86]);
  });

  it('refuses other arguments in the words of PyTorch', () => {
    expect(() => einsum(a)).toThrow(
      'einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list',
    );
    expect(() => einsum(a, ints(0n, 1n), b)).toThrow('einsum(): expected List[int] in argument 2, but got Tensor');
    expect(() => einsum(a, ints(0n, 52n))).toThrow(
      'einsum(): expected subscript 1 in argument 1 to be within the range [0, 52), but got 52',
    );
  });
});
