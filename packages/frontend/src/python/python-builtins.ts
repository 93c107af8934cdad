import { AnyType, Complex } from '@cresset/ir';
import { Dict, List, Tuple, type IValue } from '@cresset/tensor';
import { binaryOperation, isTruthy, PythonError, unaryOperation } from './python-arithmetic.ts';
import { pythonTypeName } from './python-value.ts';

type Builtin = (args: readonly IValue[]) => IValue | undefined;

/**
 * Python's functions that constants are made with. They give undefined for arguments that they leave to the compiler, and throw a
 * PythonError where Python would raise.
 */
export const PYTHON_BUILTINS: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  ['len', ([value]) => BigInt(itemsOf(value).length)],
  ['abs', ([value]) => (isNumber(value) ? absolute(value) : undefined)],
  ['bool', ([value]) => value !== undefined && isTruthy(value)],
  ['int', ([value, ...rest]) => (rest.length > 0 ? undefined : toInt(value))],
  ['float', ([value]) => (value === undefined ? 0 : isReal(value) ? Number(value) : undefined)],
  ['complex', ([re = 0, im = 0]) => complexOf(re, im)],
  ['tuple', ([value]) => new Tuple(value === undefined ? [] : itemsOf(value))],
  ['list', ([value]) => new List(AnyType.get(), value === undefined ? [] : [...itemsOf(value)])],
  ['range', rangeOf],
  ['max', (args) => extreme('>', args)],
  ['min', (args) => extreme('<', args)],
  [
    'sum',
    ([values, start = 0n]) => itemsOf(values).reduce((sum, item) => binaryOperation('+', sum, item) as IValue, start),
  ],
  ['pow', ([base, exponent, ...rest]) => (rest.length > 0 ? undefined : power(base, exponent))],
  ['round', ([value, digits = null]) => rounded(value, digits)],
]);

function itemsOf(value: IValue | undefined): readonly IValue[] {
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (typeof value === 'string') return [...value];
  if (value instanceof Dict) return [...value.entries.keys()];
  throw new PythonError(`'${pythonTypeName(value ?? null)}' object is not iterable`);
}

function isReal(value: IValue | undefined): value is boolean | bigint | number {
  return typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number';
}

function isNumber(value: IValue | undefined): value is boolean | bigint | number | Complex {
  return isReal(value) || value instanceof Complex;
}

function absolute(value: boolean | bigint | number | Complex): IValue {
  if (value instanceof Complex) return Math.hypot(value.re, value.im);
  return (binaryOperation('<', value, 0n) ? unaryOperation('-', value) : unaryOperation('+', value)) as IValue;
}

function toInt(value: IValue | undefined): IValue | undefined {
  if (value === undefined) return 0n;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new PythonError('cannot convert float infinity or NaN to integer');
    return BigInt(Math.trunc(value));
  }
  return isReal(value) ? BigInt(value) : undefined;
}

function complexOf(re: IValue, im: IValue): IValue | undefined {
  if (!isNumber(re) || !isNumber(im)) return undefined;
  return binaryOperation('+', re, binaryOperation('*', im, new Complex(0, 1))) as IValue;
}

function rangeOf(args: readonly IValue[]): IValue {
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

function extreme(op: '<' | '>', args: readonly IValue[]): IValue {
  const items = args.length === 1 ? itemsOf(args[0]) : args;
  if (items.length === 0) throw new PythonError('max() or min() of an empty sequence');
  return items.reduce((best, item) => (binaryOperation(op, item, best) ? item : best));
}

function power(base: IValue | undefined, exponent: IValue | undefined): IValue | undefined {
  if (base === undefined || exponent === undefined) return undefined;
  return binaryOperation('**', base, exponent) as IValue;
}

/** To an even last digit where two are equally near. */
function rounded(value: IValue | undefined, digits: IValue): IValue | undefined {
  if (typeof value === 'bigint' || typeof value === 'boolean') return digits === null ? BigInt(value) : undefined;
  if (typeof value !== 'number') return undefined;
  if (typeof digits === 'bigint')
    return digits >= 0n && digits < 100n ? Number(value.toFixed(Number(digits))) : undefined;
  if (!Number.isFinite(value)) throw new PythonError('cannot convert float infinity or NaN to integer');
  const below = Math.floor(value);
  const isHalf = value - below === 0.5;
  return BigInt(isHalf ? below + (below % 2 === 0 ? 0 : 1) : Math.round(value));
}
