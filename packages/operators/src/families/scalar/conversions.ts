import { Complex, type IValue } from '@cresset/tensor';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { truncateToInt, wrap } from './int64.ts';

/** `int()`, `float()`, `bool()`, `complex()` of numbers and strings. Those of tensors read data: see conversion of tensors. */

function isTrue(value: IValue): boolean {
  return value instanceof Complex ? value.re !== 0 || value.im !== 0 : Boolean(value);
}

function realOf(value: IValue): IValue {
  return value instanceof Complex ? value.re : value;
}

function toInt(value: IValue): bigint {
  const real = realOf(value);
  if (typeof real === 'bigint') return real;
  return typeof real === 'boolean' ? BigInt(real) : truncateToInt(real as number);
}

/** The number that a text starts with, as C reads it, has to be all of the text. */
function requireWhole(text: string, match: RegExpExecArray, what: string): void {
  if (match[0].length < text.length) throw new OperatorError(`${what}: '${text}'`);
}

/** C++'s `stoll`: leading blanks and a sign, then digits. */
function parseInteger(text: string): bigint {
  const match = /^[ \t\n\v\f\r]*([+-]?)(\d+)/.exec(text);
  const value = match && BigInt(match[2]) * (match[1] === '-' ? -1n : 1n);
  if (value === null || wrap(value) !== value) throw new OperatorError('stoll');
  requireWhole(text, match!, 'invalid literal for int() with base 10');
  return value;
}

/** C++'s `stod`: a decimal or hexadecimal number, inf or nan in any case; none that is too large or too small for a double. */
function parseFloatingPoint(text: string): number {
  const match = /^[ \t\n\v\f\r]*([+-]?)(?:(0x[\da-f]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(inf(?:inity)?)|nan)/i.exec(
    text,
  );
  const magnitude = match?.[2] !== undefined ? Number(match[2]) : match?.[3] !== undefined ? Infinity : NaN;
  const isTooSmall = magnitude < SMALLEST_NORMAL && /^[\d.]*[1-9]/.test(match![2]);
  if (!match || isTooSmall || (magnitude === Infinity && match[2] !== undefined)) throw new OperatorError('stod');
  requireWhole(text, match, 'could not convert string to float');
  return match[1] === '-' ? -magnitude : magnitude;
}

const SMALLEST_NORMAL = 2 ** -1022;

/** Types of real and imaginary parts, in PyTorch's order: which one a number of no certain type becomes hangs on it. */
const partTypes = 'int_bool bool_int float_bool bool_float float_int int_float int_int bool_bool float_float'
  .split(' ')
  .map((pair) => pair.split('_'));

export const conversionRows: readonly OperatorRow[] = [
  { schema: 'aten::Bool.int(int a) -> bool', scalar: isTrue },
  { schema: 'aten::Bool.float(float a) -> bool', scalar: isTrue },
  { schema: 'aten::Int.bool(bool a) -> int', scalar: toInt },
  { schema: 'aten::Int.float(float a) -> int', scalar: toInt },
  { schema: 'aten::Int.Scalar(Scalar a) -> int', scalar: toInt },
  { schema: 'aten::Int.str(str a) -> int', scalar: (a) => parseInteger(a as string) },
  { schema: 'aten::Float.Scalar(Scalar a) -> float', scalar: (a) => Number(realOf(a)) },
  { schema: 'aten::Float.int(int a) -> float', scalar: Number },
  { schema: 'aten::Float.bool(bool a) -> float', scalar: Number },
  { schema: 'aten::Float.str(str a) -> float', scalar: (a) => parseFloatingPoint(a as string) },
  {
    schema: 'aten::Complex.Scalar(Scalar a) -> complex',
    scalar: (a) => (a instanceof Complex ? a : new Complex(Number(a), 0)),
  },
  ...partTypes.map(([left, right]): OperatorRow => ({
    schema: `aten::Complex.${left}_${right}(${left} x, ${right} y) -> complex`,
    scalar: (x, y) => new Complex(Number(x), Number(y)),
  })),
];
