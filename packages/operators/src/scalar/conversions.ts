import { Complex, type IValue } from '@cresset/tensor';
import { OperatorError } from '../errors.ts';
import type { OperatorRow } from '../row.ts';
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

/** C's `stoll`: leading blanks and a sign, then digits to the end. */
function parseInteger(text: string): bigint {
  const match = /^[ \t\n\v\f\r]*([+-]?)(\d+)$/.exec(text);
  if (!match) throw new OperatorError(`invalid literal for int() with base 10: '${text}' (stoll)`);
  const value = BigInt(match[2]) * (match[1] === '-' ? -1n : 1n);
  if (wrap(value) !== value) throw new OperatorError(`'${text}' does not fit a 64-bit integer (stoll)`);
  return value;
}

/** C's `stod`: a decimal number, inf or nan in any case. */
function parseFloatingPoint(text: string): number {
  const match = /^[ \t\n\v\f\r]*([+-]?)(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(inf(?:inity)?)|(nan))$/i.exec(
    text,
  );
  if (!match) throw new OperatorError(`could not convert string to float: '${text}' (stod)`);
  const magnitude = match[2] !== undefined ? Number(match[2]) : match[3] !== undefined ? Infinity : NaN;
  return match[1] === '-' ? -magnitude : magnitude;
}

const partTypes = ['int', 'float', 'bool'] as const;

export const conversionRows: readonly OperatorRow[] = [
  { schema: 'aten::Bool.int(int a) -> bool', scalar: isTrue },
  { schema: 'aten::Bool.float(float a) -> bool', scalar: isTrue },
  { schema: 'aten::Int.bool(bool a) -> int', scalar: toInt },
  { schema: 'aten::Int.float(float a) -> int', scalar: toInt },
  { schema: 'aten::Int.Scalar(Scalar a) -> int', scalar: toInt },
  { schema: 'aten::Int.str(str a) -> int', scalar: (a) => parseInteger(a as string) },
  { schema: 'aten::Float.bool(bool a) -> float', scalar: Number },
  { schema: 'aten::Float.int(int a) -> float', scalar: Number },
  { schema: 'aten::Float.Scalar(Scalar a) -> float', scalar: (a) => Number(realOf(a)) },
  { schema: 'aten::Float.str(str a) -> float', scalar: (a) => parseFloatingPoint(a as string) },
  {
    schema: 'aten::Complex.Scalar(Scalar a) -> complex',
    scalar: (a) => (a instanceof Complex ? a : new Complex(Number(a), 0)),
  },
  ...partTypes.flatMap((left) =>
    partTypes.map((right): OperatorRow => ({
      schema: `aten::Complex.${left}_${right}(${left} x, ${right} y) -> complex`,
      scalar: (x, y) => new Complex(Number(x), Number(y)),
    })),
  ),
];
