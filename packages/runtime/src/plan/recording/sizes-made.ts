import { symbolicArguments, type OperatorRow } from '@cresset/operators';
import type { IValue, SymInt } from '@cresset/tensor';
import type { Instruction } from '../../interpreter/code/instruction.ts';
import { scalarsOfSizes } from './scalars-of-sizes.ts';

/** What an instruction is given: a value, or what a number or a list of numbers is worked out of. */
export type SymbolicValue = IValue | SymInt | readonly SymInt[];

const rowOf = (instruction: Instruction): OperatorRow | null =>
  instruction.op === 'OP' || instruction.op === 'DIRECT' ? instruction.operand.row : null;

/**
 * What an instruction makes of sizes, one for each output: expressions, lists of such, or null for what is no number. Null where it goes by the numbers
 * themselves.
 */
export function sizesMadeBy(
  instruction: Instruction,
  values: readonly SymbolicValue[],
): readonly (SymInt | readonly SymInt[] | null)[] | null {
  switch (instruction.op) {
    case 'MOVE':
    case 'MOVE_PLAIN':
    case 'LIST_UNPACK': {
      const given = instruction.op === 'LIST_UNPACK' ? values[0] : values;
      return Array.isArray(given) ? given.map((value) => asSize(value)) : null;
    }
    case 'DROP':
    case 'SET_ATTR':
      return [];
    case 'LIST_CONSTRUCT': {
      const items = values.map(asSize);
      return items.every((item) => item !== null) ? [items as SymInt[]] : null;
    }
    default: {
      const sizes = sizesOf(instruction) as
        | ((...args: unknown[]) => SymInt | readonly SymInt[] | boolean | null)
        | undefined;
      const made = sizes?.(...values.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
      if (typeof made === 'boolean') return [null];
      return made === undefined || made === null ? null : [made];
    }
  }
}

/** What an operator does with sizes, where its row or its name tells. */
function sizesOf(instruction: Instruction): OperatorRow['sizes'] {
  if (instruction.op !== 'OP' && instruction.op !== 'DIRECT') return undefined;
  const { row, name } = instruction.operand;
  return row?.sizes ?? scalarsOfSizes.get(name);
}

/** A number as a size; null for what is none. */
function asSize(value: unknown): SymInt | readonly SymInt[] | null {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'object' && value !== null && ('env' in value || Array.isArray(value))
    ? (value as SymInt)
    : null;
}

/** Whether an instruction may do with expressions what it does with whole numbers. */
export function mayTakeSizes(instruction: Instruction): boolean {
  const row = rowOf(instruction);
  return instruction.op === 'LIST_CONSTRUCT' || sizesOf(instruction) !== undefined || row?.takesSizes !== undefined;
}

/** Whether the kernels of an operator take expressions in the place of whole numbers. */
export const takesSizes = (instruction: Instruction): boolean => rowOf(instruction)?.takesSizes !== undefined;

/** Has the operator of an instruction be given expressions in the place of its numbers; null has nobody be given some. */
export function giveSizes(instruction: Instruction | null, values: readonly SymbolicValue[]): void {
  const row = instruction && rowOf(instruction);
  symbolicArguments.now = row ? { row, values } : null;
}
