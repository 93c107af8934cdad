import { AnyType, Complex } from '@cresset/ir';
import { List, Tensor } from '@cresset/tensor';
import { binaryOperation, PythonError, unaryOperation } from '../python-arithmetic.ts';
import { pythonTypeName, type PythonValue } from '../python-value.ts';
import { tupleOf } from './containers.ts';
import { PythonObject, type Keywords } from './entities.ts';
import type { Interpreter } from './interpreter.ts';

type Builtin = (args: readonly PythonValue[], python: Interpreter) => PythonValue;

/** Python's functions on numbers, which throw a PythonError where Python would raise. */
const FUNCTIONS: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  [
    'abs',
    ([value], python) => (isNumber(value) ? absolute(value) : python.call(python.getAttribute(value!, 'abs'), [])),
  ],
  ['bool', ([value], python) => value !== undefined && python.isTruthy(value)],
  ['int', toInt],
  ['float', toFloat],
  ['complex', ([re = 0, im = 0]) => complexOf(re, im)],
  ['range', (args) => rangeOf(args)],
  ['pow', ([base, exponent], python) => python.binary('**', base!, exponent!)],
  ['round', ([value, digits = null]) => rounded(value!, digits)],
  ['divmod', ([a, b], python) => tupleOf([python.binary('//', a!, b!), python.binary('%', a!, b!)])],
  ['ord', ([text]) => BigInt((text as string).charCodeAt(0))],
  ['chr', ([code]) => String.fromCharCode(Number(code))],
  ['bin', ([value]) => `0b${(value as bigint).toString(2)}`],
  ['hex', ([value]) => `0x${(value as bigint).toString(16)}`],
  ['oct', ([value]) => `0o${(value as bigint).toString(8)}`],
]);

export const NUMBER_BUILTINS: readonly string[] = [...FUNCTIONS.keys()];

/** Calls one of them; keywords count as the arguments that follow. */
export function numberBuiltin(
  python: Interpreter,
  name: string,
  args: readonly PythonValue[],
  kwargs: Keywords,
): PythonValue {
  return FUNCTIONS.get(name)!([...args, ...kwargs.values()], python);
}

function isReal(value: PythonValue | undefined): value is boolean | bigint | number {
  return typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number';
}

function isNumber(value: PythonValue | undefined): value is boolean | bigint | number | Complex {
  return isReal(value) || value instanceof Complex;
}

function absolute(value: boolean | bigint | number | Complex): PythonValue {
  if (value instanceof Complex) return Math.hypot(value.re, value.im);
  return binaryOperation('<', value, 0n) ? unaryOperation('-', value) : unaryOperation('+', value);
}

function toInt([value, base]: readonly PythonValue[], python: Interpreter): PythonValue {
  if (value === undefined) return 0n;
  if (value instanceof Tensor) return toInt([python.tensors.item(value)], python);
  if (typeof value === 'number') {
    if (Number.isNaN(value)) throw new PythonError('cannot convert float NaN to integer', 'ValueError');
    if (!Number.isFinite(value)) throw new PythonError('cannot convert float infinity to integer', 'OverflowError');
    return BigInt(Math.trunc(value));
  }
  if (isReal(value)) return BigInt(value);
  if (typeof value === 'string') {
    const digits = value.trim().replaceAll('_', '');
    const prefix = base === 16n ? '0x' : base === 2n ? '0b' : base === 8n ? '0o' : '';
    const isInt = prefix === '' ? /^[-+]?\d+$/.test(digits) : /^[0-9a-fA-F]+$/.test(digits);
    if (isInt) return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(prefix + digits.replace('+', ''));
    const shown = python.repr(value);
    throw new PythonError(`invalid literal for int() with base ${String(base ?? 10n)}: ${shown}`, 'ValueError');
  }
  const method = value instanceof PythonObject ? python.getAttributeOrUndefined(value, '__int__') : undefined;
  if (method !== undefined) return python.call(method, []);
  const type = python.nameOfType(value);
  throw new PythonError(`int() argument must be a string, a bytes-like object or a real number, not '${type}'`);
}

function toFloat([value]: readonly PythonValue[], python: Interpreter): PythonValue {
  if (value === undefined) return 0;
  if (value instanceof Tensor) return toFloat([python.tensors.item(value)], python);
  if (isReal(value)) return Number(value);
  if (typeof value === 'string') {
    const text = value.trim().toLowerCase();
    const special = /^([-+]?)(inf|infinity|nan)$/.exec(text);
    if (special) return special[2] === 'nan' ? NaN : special[1] === '-' ? -Infinity : Infinity;
    if (text !== '' && !Number.isNaN(Number(text))) return Number(text);
    throw new PythonError(`could not convert string to float: ${python.repr(value)}`, 'ValueError');
  }
  const method = value instanceof PythonObject ? python.getAttributeOrUndefined(value, '__float__') : undefined;
  if (method !== undefined) return python.call(method, []);
  throw new PythonError(`float() argument must be a string or a real number, not '${python.nameOfType(value)}'`);
}

function complexOf(re: PythonValue, im: PythonValue): PythonValue {
  return binaryOperation('+', re, binaryOperation('*', im, new Complex(0, 1)));
}

function rangeOf(args: readonly PythonValue[]): PythonValue {
  const numbers = args.map((value) => {
    if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
    throw new PythonError(`'${pythonTypeName(value)}' object cannot be interpreted as an integer`);
  });
  const [start, stop, step] = numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1];
  if (step === 0) throw new PythonError('range() arg 3 must not be zero');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > 1_000_000) throw new PythonError('a constant of more than a million items');
  return new List(
    AnyType.get(),
    Array.from({ length }, (_, at) => BigInt(start + at * step)),
  );
}

/** To an even last digit where two are equally near. */
function rounded(value: PythonValue, digits: PythonValue): PythonValue {
  if (typeof value === 'bigint' || typeof value === 'boolean') return BigInt(value);
  if (typeof value !== 'number') throw new PythonError(`type ${pythonTypeName(value)} doesn't define __round__ method`);
  if (typeof digits === 'bigint') return roundedTo(value, Number(digits));
  if (!Number.isFinite(value)) {
    throw new PythonError('cannot convert float infinity or NaN to integer', 'OverflowError');
  }
  const below = Math.floor(value);
  const isHalf = value - below === 0.5;
  return BigInt(isHalf ? below + (below % 2 === 0 ? 0 : 1) : Math.round(value));
}

function roundedTo(value: number, digits: number): number {
  if (digits >= 0) return digits < 100 ? Number(value.toFixed(digits)) : value;
  const unit = 10 ** -digits;
  return Math.round(value / unit) * unit;
}
