import type { OperatorRow } from '@cresset/operators';
import { hint, SymNode, type IValue, type SymKind } from '@cresset/tensor';

/** A number of a program, or what it is worked out of. */
export type SymbolicNumber = bigint | number | boolean | SymNode<SymKind>;

const isSymbolicNumber = (value: unknown): value is SymbolicNumber =>
  value instanceof SymNode || (typeof value !== 'object' && typeof value !== 'string' && value !== undefined);

/** The number that an expression is now, as a program has it: ints are bigints. */
export const numberOfNow = (size: SymNode<SymKind>): bigint | number =>
  size.kind === 'int' ? BigInt(hint(size)) : hint(size);

/** A float as Python writes it, so that it is no int, and zeros are told apart. */
const floatText = (value: number): string =>
  Number.isInteger(value) ? `${Object.is(value, -0) ? '-0' : value}.0` : `${value}`;

const textOf = (value: SymbolicNumber): string => (typeof value === 'number' ? floatText(value) : `${value}`);

/** What is known of a number of a kind, so that it stands for what the operator gives: ints are exact up to 2^53, and NaN is what one that fails gives. */
const known = {
  bigint: { kind: 'int', condition: 'is exact', holds: Number.isSafeInteger },
  number: { kind: 'float', condition: 'is a number', holds: (value: number) => !Number.isNaN(value) },
} as const;

/** Whether an expression of ints is exact, for which a guard is noted: sums of symbols are, products may come to more than 2^53. */
export function isExact(size: SymNode): boolean {
  if ([...size.terms.values()].every(({ factors }) => factors.length <= 1)) return true;
  const { condition, holds } = known.bigint;
  size.env.note(size, condition, holds);
  return holds(size.value);
}

/**
 * What an operator on numbers makes of such as are worked out of sizes: an expression that gives what the operator gives, to the last bit, since that is
 * who works it out (PyTorch's SymFloat has a function for each, torch/utils/_sympy/functions.py). Null of a comparison, of which a guard is noted. Undefined
 * where it gives no number, or one that is not known.
 *
 * @param name of the operator, with its overload: `aten::sqrt.int`
 */
export function numberOf(
  { scalar, nondeterministic, hasSideEffects }: OperatorRow,
  name: string,
  values: readonly unknown[],
): SymNode<SymKind> | null | undefined {
  if (!scalar || nondeterministic || hasSideEffects || !values.every(isSymbolicNumber)) return undefined;
  const operands = values.filter((value) => value instanceof SymNode);
  if (operands.length === 0) return undefined;
  const result = (): IValue => {
    try {
      return scalar(...values.map((value) => (value instanceof SymNode ? numberOfNow(value) : value)));
    } catch {
      // The instruction itself tells of it: no replay comes there.
      return NaN;
    }
  };
  const now = result();
  const [{ env }] = operands;
  const text = `${name.split('::')[1]}(${values.map(textOf).join(', ')})`;
  const node = <Kind extends SymKind>(kind: Kind): SymNode<Kind> =>
    env.node(text, null, -Infinity, () => Number(result()), kind, operands);
  if (typeof now === 'boolean') {
    env.note(node('int'), now ? 'holds' : 'does not hold', (value) => value === Number(now));
    return null;
  }
  if (typeof now !== 'bigint' && typeof now !== 'number') return undefined;
  const { kind, condition, holds } = known[typeof now as 'bigint' | 'number'];
  if (!holds(Number(now))) return undefined;
  env.note(node(kind), condition, holds);
  return node(kind);
}
