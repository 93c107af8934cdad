import type { Value } from '@cresset/ir';
import { OperatorError, requireInt } from '@cresset/operators';
import type { IValue, List } from '@cresset/tensor';
import type { OperatorBinding } from './code/operator-binding.ts';

/**
 * Operators on what registers hold. There an `int` is a number as long as that is exact, and a bigint else: arithmetic on numbers is
 * several times as fast. Either may come for an `int`, whatever its value; -0 never does.
 */
type DirectOperator = (a: never, b: never, c: never) => IValue;

export interface DirectBinding extends OperatorBinding {
  readonly direct: (a: IValue, b?: IValue, c?: IValue) => IValue;
  /** The result is a number, a flag or a string. */
  readonly isPlain: boolean;
}

type Int = number | bigint;

const LARGEST = Number.MAX_SAFE_INTEGER;

/** An int as registers hold it. */
export function plainInt(value: bigint): Int {
  // Engines compute this in machine words, as they do bigints that are cut to 64 bits at once, and call functions for other comparisons.
  return BigInt.asIntN(54, value) === value ? Number(value) : value;
}

/** Refuses what is there in the place of an int that has no value. */
const toBigint = (value: Int): bigint => (typeof value === 'number' ? BigInt(value) : requireInt(value));

// Wraparound is C++'s, and written out in each: only so is no bigint of more than 64 bits made.

function add(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (sum >= -LARGEST && sum <= LARGEST) return sum;
  }
  return plainInt(BigInt.asIntN(64, toBigint(a) + toBigint(b)));
}

function subtract(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (difference >= -LARGEST && difference <= LARGEST) return difference;
  }
  return plainInt(BigInt.asIntN(64, toBigint(a) - toBigint(b)));
}

function multiply(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    // Adding 0 turns −0 into 0.
    if (product >= -LARGEST && product <= LARGEST) return product + 0;
  }
  return plainInt(BigInt.asIntN(64, toBigint(a) * toBigint(b)));
}

function floorDivide(a: Int, b: Int): Int {
  if (Number(b) === 0) throw new OperatorError('division by 0');
  if (typeof a === 'number' && typeof b === 'number') {
    // Exact once the rest is taken off; adding 0 turns −0 into 0.
    const rest = a % b;
    return (a - rest) / b - (rest !== 0 && rest < 0 !== b < 0 ? 1 : 0) + 0;
  }
  const [x, y] = [toBigint(a), toBigint(b)];
  return plainInt(BigInt.asIntN(64, (x - pythonRemainder(x, y)) / y));
}

function pythonRemainder(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

function modulo(a: Int, b: Int): Int {
  if (Number(b) === 0) throw new OperatorError('integer modulo by zero');
  if (typeof a === 'number' && typeof b === 'number') {
    const rest = a % b;
    return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest + 0;
  }
  return plainInt(pythonRemainder(toBigint(a), toBigint(b)));
}

/** Of a number and a bigint, too. */
const equal = (a: Int, b: Int): boolean => (typeof a === typeof b ? a === b : BigInt(a) === BigInt(b));

type Comparable = number & bigint & string;

const comparisons: Record<string, DirectOperator> = {
  lt: (a: Comparable, b: Comparable) => a < b,
  le: (a: Comparable, b: Comparable) => a <= b,
  gt: (a: Comparable, b: Comparable) => a > b,
  ge: (a: Comparable, b: Comparable) => a >= b,
};

const operators: Record<string, DirectOperator> = {
  'aten::add.int': add,
  'aten::sub.int': subtract,
  'aten::mul.int': multiply,
  'aten::floordiv.int': floorDivide,
  'aten::remainder.int': modulo,
  'aten::eq.int': equal,
  'aten::ne.int': (a: Int, b: Int) => !equal(a, b),
  'aten::neg.int': (a: Int) => subtract(0, a),
  'aten::__derive_index': (index: Int, start: Int, step: Int) => add(start, multiply(index, step)),
  'aten::Float.int': (a: Int) => Number(a),
  'aten::__not__': (a: boolean) => !a,
  'aten::eq.str': (a: string, b: string) => a === b,
  'aten::ne.str': (a: string, b: string) => a !== b,
  'aten::eq.float': (a: number, b: number) => a === b,
  'aten::ne.float': (a: number, b: number) => a !== b,
  'aten::neg.float': (a: number) => -a,
  'aten::len.t': ({ items }: List) => items.length,
  'aten::len.str': (text: string) => text.length,
  'aten::__getitem__.t': item,
};

for (const kind of ['float', 'int_float', 'float_int']) {
  operators[`aten::add.${kind}`] = (a: Int, b: Int) => Number(a) + Number(b);
  operators[`aten::sub.${kind}`] = (a: Int, b: Int) => Number(a) - Number(b);
  operators[`aten::mul.${kind}`] = (a: Int, b: Int) => Number(a) * Number(b);
  operators[`aten::div.${kind}`] = (a: Int, b: Int) => Number(a) / Number(b);
}
operators['aten::div.int'] = operators['aten::div.float'];
for (const [name, compare] of Object.entries(comparisons)) {
  for (const kind of ['int', 'float', 'str']) operators[`aten::${name}.${kind}`] = compare;
}

function item({ items }: List, index: Int): IValue {
  const at = Number(index);
  const value = items[at < 0 ? at + items.length : at];
  if (value === undefined) throw new OperatorError('list index out of range', 'IndexError');
  return value;
}

/** The function of what registers hold that a node's operator is, by its name with overload; null where it takes values as they are. */
export function directOperator(name: string, { type }: Value): DirectBinding['direct'] | null {
  const direct = (operators[name] as DirectBinding['direct'] | undefined) ?? null;
  return direct === item && type.kind === 'IntType' ? (plainItem as DirectBinding['direct']) : direct;
}

const plainItem = (list: List, index: Int): Int => plainInt(item(list, index) as bigint);
