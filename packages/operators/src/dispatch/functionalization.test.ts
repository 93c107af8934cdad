import type { IValue, ScalarType, Tensor } from '@cresset/tensor';
import { describe, expect, test } from 'vitest';
import { boxingOf } from '../table/boxing.ts';
import { cloneOf } from '../kernels/copy.ts';
import { functionalizedRow } from './functionalization.ts';
import { runOnHost } from './invoke.ts';
import { fixedGenerator, tensor } from '../operator-fixture.ts';
import { allRows, registerAllOperators } from '../register-all.ts';
import type { OperatorRow } from '../table/row.ts';

registerAllOperators();

const context = { gradEnabled: false, generator: fixedGenerator, print: () => undefined, warn: () => undefined };
const rows = allRows().filter(({ derived }) => derived?.form === 'in-place' && derived.from.pointwise);
const dtypes: readonly ScalarType[] = ['float32', 'float64', 'float16', 'int64', 'uint8', 'bool'];

const operand = (dtype: ScalarType, sizes = [2, 3]): Tensor =>
  tensor(
    Array.from({ length: sizes.reduce((product, size) => product * size, 1) }, (_, at) =>
      dtype === 'bool' ? at % 2 : 1 + (at % 3),
    ),
    sizes,
    dtype,
  );

/** Arguments for a row: `self`, other tensors from `other`, and numbers that any operator takes. */
function argumentsFor(row: OperatorRow, self: Tensor, other: () => Tensor): IValue[] {
  return boxingOf(row).signature.args.map(({ type, name, text }, at): IValue => {
    if (at === 0) return self;
    if (name === 'mask' || name === 'condition') return operand('bool', [...other().sizes]);
    if (type === 'Tensor' || type === 'Tensor?') return other();
    if (text.endsWith('=None')) return null;
    if (type === 'str') return 'none';
    if (type === 'bool') return false;
    return type === 'int' || (type === 'Scalar' && name === 'alpha') ? 1n : 2.5;
  });
}

/** Dtype, layout and elements of a result, or what was said instead. */
function outcome(row: OperatorRow, args: readonly IValue[]): unknown {
  try {
    const [result] = runOnHost(row, args, context) as [Tensor];
    const { dtype, sizes, strides } = result;
    return { dtype, sizes, strides, elements: Array.from(result.contiguousArray(), String) };
  } catch (error) {
    return (error as Error).message;
  }
}

/** What an operator does to a tensor, and what it gives where the write was made a value. */
function bothWays(row: OperatorRow, self: () => Tensor, other: () => Tensor): [unknown, unknown] {
  const functional = functionalizedRow(row.derived!.from);
  return [outcome(functional, argumentsFor(row, self(), other)), outcome(row, argumentsFor(row, self(), other))];
}

describe('an operator in place, made to give a value,', () => {
  test.each(rows.map((row) => [row.schema.slice('aten::'.length, row.schema.indexOf('(')), row] as const))(
    'gives what %s writes',
    (_, row) => {
      for (const own of dtypes) {
        for (const given of dtypes) {
          const [value, written] = bothWays(
            row,
            () => operand(own),
            () => operand(given),
          );
          expect(value, `${own} and ${given}`).toEqual(written);
        }
      }
      for (const sizes of [[3], [2, 1], [4, 2, 3], [5]]) {
        const [value, written] = bothWays(
          row,
          () => operand('float32'),
          () => operand('float32', sizes),
        );
        expect(value, `sizes ${sizes}`).toEqual(written);
      }
      const transposed = (): Tensor => cloneOf(operand('float32', [3, 2])).asStrided([2, 3], [1, 2]);
      const [value, written] = bothWays(row, transposed, () => operand('float32'));
      expect(value).toEqual(written);
    },
  );

  test('there are many of', () => expect(rows.length).toBeGreaterThan(150));
});
