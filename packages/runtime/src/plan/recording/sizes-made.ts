import { boxingOf, symbolicArguments, type OperatorRow } from '@cresset/operators';
import { SymNode, type IValue, type SymFloat, type SymInt } from '@cresset/tensor';
import type { Instruction } from '../../interpreter/code/instruction.ts';
import { isExact, numberOf } from './numbers-of-sizes.ts';
import { isAppend } from './recordable.ts';
import { scalarsOfSizes } from './scalars-of-sizes.ts';

/** A number that is worked out of sizes. */
export type SizedNumber = SymInt | SymFloat;

/** What an instruction is given: a value, or what a number, or those in a list or a tuple, are worked out of; null of what else lies there. */
export type SymbolicValue = IValue | SizedNumber | SizedItems;

export type SizedItems = readonly (SizedNumber | SizedItems | null)[];

/** What an instruction makes of sizes, one for each output: an expression, a list of some, or null for what is no number. */
export type MadeOfSizes = readonly (SizedNumber | SizedItems | null)[];

const operatorOf = (instruction: Instruction): { readonly row: OperatorRow | null; readonly name: string } | null =>
  instruction.op === 'OP' || instruction.op === 'DIRECT' ? instruction.operand : null;

const rowOf = (instruction: Instruction): OperatorRow | null => operatorOf(instruction)?.row ?? null;

/** What an instruction makes of sizes; null where it goes by the numbers themselves. */
export function sizesMadeBy(instruction: Instruction, values: readonly SymbolicValue[]): MadeOfSizes | null {
  switch (instruction.op) {
    case 'MOVE':
    case 'MOVE_PLAIN':
      return values.map(asSize);
    case 'LIST_UNPACK':
    case 'TUPLE_UNPACK':
      return Array.isArray(values[0]) ? values[0].map(asSize) : null;
    case 'DROP':
    case 'SET_ATTR':
      return [];
    case 'LIST_CONSTRUCT':
    case 'TUPLE_CONSTRUCT': {
      const items = values.map(asSize);
      return instruction.op === 'TUPLE_CONSTRUCT' || !items.includes(null) ? [items] : null;
    }
    case 'TUPLE_INDEX': {
      const [items, index] = values;
      return Array.isArray(items) ? [asSize(items.at(Number(index)))] : null;
    }
    default:
      return madeByOperator(instruction, values);
  }
}

function madeByOperator(instruction: Instruction, values: readonly SymbolicValue[]): MadeOfSizes | null {
  const sizes = sizesOf(instruction) as ((...args: unknown[]) => SizedNumber | SizedItems | boolean | null) | undefined;
  const made = sizes?.(...values.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
  if (typeof made === 'boolean') return [null];
  if (made instanceof SymNode && made.kind === 'int' && !isExact(made)) return null;
  if (made !== undefined && made !== null) return [made];
  const operator = operatorOf(instruction);
  const number = operator?.row ? numberOf(operator.row, operator.name, values) : undefined;
  return number === undefined ? null : [number];
}

/** What an operator does with sizes, where its row or its name tells. */
function sizesOf(instruction: Instruction): OperatorRow['sizes'] {
  const operator = operatorOf(instruction);
  return operator ? (operator.row?.sizes ?? scalarsOfSizes.get(operator.name)) : undefined;
}

/** A number as a size; null for what is none. */
function asSize(value: unknown): SizedNumber | SizedItems | null {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' || value instanceof SymNode || Array.isArray(value) ? value : null;
}

/** Whether an instruction may do with expressions what it does with whole numbers. */
export function mayTakeSizes(instruction: Instruction): boolean {
  const row = rowOf(instruction);
  return (
    instruction.op === 'LIST_CONSTRUCT' ||
    sizesOf(instruction) !== undefined ||
    (row?.takesSizes ?? row?.scalar) !== undefined
  );
}

/** Whether an instruction may take numbers as params of what it launches. */
export const mayLaunch = (instruction: Instruction): boolean =>
  instruction.op === 'FUSION_GROUP' ||
  (instruction.op === 'OP' && !isAppend(instruction) && instruction.operand.row?.scalar === undefined);

/** Has the operator of an instruction be given expressions in the place of whole numbers, as far as its kernels take such; gives which arguments these are. */
export function giveSizes(instruction: Instruction, values: readonly SymbolicValue[]): ReadonlySet<number> {
  const row = rowOf(instruction);
  const sizes = new Map<number, unknown>();
  if (row?.takesSizes) {
    values.forEach((value, at) => {
      const { name, type } = boxingOf(row).signature.args[at];
      // Lists are indexed by the number of a dimension.
      const isSize = /^(?:SymInt|int)\b/.test(type) && !name.startsWith('dim');
      const takes = isSize || (row.takesSizes === 'scalars' && type === 'Scalar');
      if (takes && holdsInts(value)) sizes.set(at, value);
    });
    symbolicArguments.now = { row, sizes };
  }
  return new Set(sizes.keys());
}

/** What runs next is given numbers. */
export function takeSizesBack(): void {
  symbolicArguments.now = null;
}

const holdsInts = (value: SymbolicValue): boolean => {
  const nodes = [value].flat().filter((each) => each instanceof SymNode);
  return nodes.length > 0 && nodes.every(({ kind }) => kind === 'int');
};
