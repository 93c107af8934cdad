import { Complex } from '@cresset/ir';
import { Dict, List, Tuple, type IValue } from '@cresset/tensor';
import { pythonTypeName, TorchCode, type PythonEntity, type PythonValue } from './python-value.ts';
import type { BinaryOperator, UnaryOperator } from '../parser/tree.ts';

/** An exception that Python would raise; the message is Python's. */
export class PythonError extends Error {
  constructor(
    message: string,
    /** The name of its class, or what was raised. */
    readonly exception: string | PythonEntity = 'TypeError',
    /** What it is made with, where that is not its message: a key, which the message shows. */
    readonly args: readonly PythonValue[] = [message],
  ) {
    super(message);
  }
}

/** Python's `bool(value)`. */
export function isTruthy(value: PythonValue): boolean {
  if (value instanceof List || value instanceof Tuple) return value.items.length > 0;
  if (value instanceof Dict) return value.entries.size > 0;
  if (value instanceof Complex) return value.re !== 0 || value.im !== 0;
  return typeof value === 'object' && value !== null ? true : Boolean(value) || Number.isNaN(value);
}

/** A unary operator of Python's; throws a {@link PythonError} where the operand has none such. */
export function unaryOperation(op: UnaryOperator, value: PythonValue): PythonValue {
  if (op === 'not') return !isTruthy(value);
  const operand = typeof value === 'boolean' ? BigInt(value) : value;
  if (typeof operand === 'bigint') return op === '-' ? -operand : op === '~' ? ~operand : operand;
  if (typeof operand === 'number' && op !== '~') return op === '-' ? -operand : operand;
  if (operand instanceof Complex && op !== '~') return op === '-' ? new Complex(-operand.re, -operand.im) : operand;
  throw new PythonError(`bad operand type for unary ${op}: '${pythonTypeName(value)}'`);
}

/** A binary operator of Python's, without `and` and `or`; throws a {@link PythonError} where the operands have none such. */
export function binaryOperation(op: BinaryOperator, left: PythonValue, right: PythonValue): PythonValue {
  switch (op) {
    case '==':
      return isEqual(left, right);
    case '!=':
      return !isEqual(left, right);
    case '<':
      return compare(op, left, right) < 0;
    case '<=':
      return compare(op, left, right) <= 0;
    case '>':
      return compare(op, left, right) > 0;
    case '>=':
      return compare(op, left, right) >= 0;
    case 'is':
      return Object.is(left, right);
    case 'is not':
      return !Object.is(left, right);
    case 'in':
      return contains(right, left);
    default:
      return (
        sequenceOperation(op, left, right) ??
        numberOperation(op, left, right) ??
        bitOperation(op, left, right) ??
        fail()
      );
  }

  function fail(): never {
    const types = `'${pythonTypeName(left)}' and '${pythonTypeName(right)}'`;
    throw new PythonError(`unsupported operand type(s) for ${op === '**' ? '** or pow()' : op}: ${types}`);
  }
}

/** `left == right` */
export function isEqual(left: PythonValue, right: PythonValue): boolean {
  const [a, b] = [asNumber(left), asNumber(right)];
  if (a !== undefined && b !== undefined) {
    if (!(a instanceof Complex || b instanceof Complex)) return a == b; // eslint-disable-line eqeqeq -- 1 == 1.0
    const [x, y] = [toComplex(a), toComplex(b)];
    return x.re === y.re && x.im === y.im;
  }
  if (left instanceof List && right instanceof List) return areEqual(left.items, right.items);
  if (left instanceof Tuple && right instanceof Tuple) return areEqual(left.items, right.items);
  if (left instanceof Dict && right instanceof Dict) {
    return (
      left.entries.size === right.entries.size &&
      [...left.entries].every(([key, value]) => {
        const other = lookUp(right, key);
        return other !== undefined && isEqual(value, other);
      })
    );
  }
  if (left instanceof TorchCode && right instanceof TorchCode) {
    return left.pythonType === right.pythonType && left.code === right.code;
  }
  return left === right;
}

function areEqual(left: readonly IValue[], right: readonly IValue[]): boolean {
  return left.length === right.length && left.every((item, at) => isEqual(item, right[at]!));
}

/** The value of a key that is equal to this one. */
export function lookUp({ entries }: Dict, key: PythonValue): IValue | undefined {
  const known = isPlainKey(key) ? entries.get(key) : undefined;
  if (known !== undefined) return known;
  for (const [each, value] of entries) if (isEqual(each, key)) return value;
  return undefined;
}

/** What a Map finds as Python would, where it has it. */
function isPlainKey(key: PythonValue): key is string | bigint {
  return typeof key === 'string' || typeof key === 'bigint';
}

function contains(container: PythonValue, item: PythonValue): boolean {
  if (typeof container === 'string' && typeof item === 'string') return container.includes(item);
  if (container instanceof List || container instanceof Tuple)
    return container.items.some((each) => each === item || isEqual(each, item));
  if (container instanceof Dict) return lookUp(container, item) !== undefined;
  throw new PythonError(`argument of type '${pythonTypeName(container)}' is not iterable`);
}

/** Negative, 0 or positive; NaN where the two are not ordered. */
function compare(op: string, left: PythonValue, right: PythonValue): number {
  const [a, b] = [asNumber(left), asNumber(right)];
  if (a !== undefined && b !== undefined && !(a instanceof Complex || b instanceof Complex)) {
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : NaN; // eslint-disable-line eqeqeq -- 1 == 1.0
  }
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  if ((left instanceof List && right instanceof List) || (left instanceof Tuple && right instanceof Tuple)) {
    const at = left.items.findIndex(
      (item, index) => index >= right.items.length || !isEqual(item, right.items[index]!),
    );
    if (at === -1) return left.items.length - right.items.length;
    return at >= right.items.length ? 1 : compare(op, left.items[at]!, right.items[at]!);
  }
  const types = `'${pythonTypeName(left)}' and '${pythonTypeName(right)}'`;
  throw new PythonError(`'${op}' not supported between instances of ${types}`);
}

/** `+` of two sequences, and a sequence times an int. */
function sequenceOperation(op: string, left: PythonValue, right: PythonValue): PythonValue | undefined {
  if (op === '+') {
    if (typeof left === 'string' && typeof right === 'string') return left + right;
    if (left instanceof List && right instanceof List)
      return new List(left.elementType, [...left.items, ...right.items]);
    if (left instanceof Tuple && right instanceof Tuple) return new Tuple([...left.items, ...right.items]);
  }
  if (op !== '*') return undefined;
  const [sequence, factor] = isSequence(left) ? [left, asNumber(right)] : [right, asNumber(left)];
  if (!isSequence(sequence) || typeof factor !== 'bigint') return undefined;
  const times = factor < 0n ? 0 : Number(factor);
  if (times * lengthOf(sequence) > MAX_ITEMS) throw new PythonError('a constant of more than a million items');
  if (typeof sequence === 'string') return sequence.repeat(times);
  const items = new Array<readonly IValue[]>(times).fill(sequence.items).flat();
  return sequence instanceof List ? new List(sequence.elementType, items) : new Tuple(items);
}

const MAX_ITEMS = 1_000_000;
/** Bits beyond which an int is refused: no constant can hold it, and making it could take for ever. */
const MAX_BITS = 4096n;

function isSequence(value: PythonValue): value is string | List | Tuple {
  return typeof value === 'string' || value instanceof List || value instanceof Tuple;
}

function lengthOf(sequence: string | List | Tuple): number {
  return typeof sequence === 'string' ? sequence.length : sequence.items.length;
}

/** A number as operators see it: a bool is an int. */
function asNumber(value: PythonValue): bigint | number | Complex | undefined {
  if (typeof value === 'boolean') return BigInt(value);
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (value instanceof Complex) return value;
  return undefined;
}

function toComplex(value: bigint | number | Complex): Complex {
  return value instanceof Complex ? value : new Complex(Number(value), 0);
}

function numberOperation(op: string, left: PythonValue, right: PythonValue): PythonValue | undefined {
  const [a, b] = [asNumber(left), asNumber(right)];
  if (a === undefined || b === undefined) return undefined;
  if (a instanceof Complex || b instanceof Complex) return complexOperation(op, toComplex(a), toComplex(b));
  const isIntPower = op === '**' && typeof b === 'bigint' && b >= 0n;
  if (typeof a === 'bigint' && typeof b === 'bigint' && op !== '/' && (op !== '**' || isIntPower)) {
    return intOperation(op, a, b);
  }
  return floatOperation(op, Number(a), Number(b));
}

function intOperation(op: string, a: bigint, b: bigint): bigint | undefined {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '//':
    case '%': {
      if (b === 0n) throw new PythonError('integer division or modulo by zero', 'ZeroDivisionError');
      const remainder = a % b;
      const isOff = remainder !== 0n && remainder < 0n !== b < 0n;
      return op === '%' ? (isOff ? remainder + b : remainder) : a / b - (isOff ? 1n : 0n);
    }
    case '**':
      if (BigInt(a.toString(2).length) * b > MAX_BITS && a !== 1n && a !== 0n && a !== -1n) throw tooLarge();
      return a ** b;
    default:
      return undefined;
  }
}

function tooLarge(): PythonError {
  return new PythonError(`an int of more than ${MAX_BITS} bits`);
}

function floatOperation(op: string, a: number, b: number): number | Complex | undefined {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      if (b === 0) throw new PythonError('division by zero', 'ZeroDivisionError');
      return a / b;
    case '//':
    case '%': {
      if (b === 0) throw new PythonError('division by zero', 'ZeroDivisionError');
      const remainder = a % b;
      const modulo = remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder;
      return op === '%' ? modulo : Math.round((a - modulo) / b);
    }
    case '**':
      if (a === 0 && b < 0) throw new PythonError('0.0 cannot be raised to a negative power');
      if (a < 0 && !Number.isInteger(b)) return complexPower(new Complex(a, 0), new Complex(b, 0));
      return a ** b;
    default:
      return undefined;
  }
}

function complexOperation(op: string, a: Complex, b: Complex): Complex | undefined {
  switch (op) {
    case '+':
      return new Complex(a.re + b.re, a.im + b.im);
    case '-':
      return new Complex(a.re - b.re, a.im - b.im);
    case '*':
      return complexProduct(a, b);
    case '/':
      return complexQuotient(a, b);
    case '**':
      return complexPower(a, b);
    default:
      return undefined;
  }
}

function complexProduct(a: Complex, b: Complex): Complex {
  return new Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/** Smith's algorithm, as Python divides. */
function complexQuotient(a: Complex, b: Complex): Complex {
  if (b.re === 0 && b.im === 0) throw new PythonError('complex division by zero');
  if (Math.abs(b.re) >= Math.abs(b.im)) {
    const ratio = b.im / b.re;
    const divisor = b.re + b.im * ratio;
    return new Complex((a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor);
  }
  const ratio = b.re / b.im;
  const divisor = b.re * ratio + b.im;
  return new Complex((a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor);
}

/** By multiplication for small whole exponents, as Python does, and else by polar coordinates. */
function complexPower(base: Complex, exponent: Complex): Complex {
  if (exponent.im === 0 && Number.isInteger(exponent.re) && Math.abs(exponent.re) <= 100) {
    let result = new Complex(1, 0);
    let square = base;
    for (let left = Math.abs(exponent.re); left > 0; left = Math.floor(left / 2)) {
      if (left % 2 === 1) result = complexProduct(result, square);
      square = complexProduct(square, square);
    }
    return exponent.re < 0 ? complexQuotient(new Complex(1, 0), result) : result;
  }
  if (base.re === 0 && base.im === 0) return new Complex(0, 0);
  const magnitude = Math.hypot(base.re, base.im);
  const angle = Math.atan2(base.im, base.re);
  const length = magnitude ** exponent.re * Math.exp(-angle * exponent.im);
  const phase = angle * exponent.re + exponent.im * Math.log(magnitude);
  return new Complex(length * Math.cos(phase), length * Math.sin(phase));
}

function bitOperation(op: string, left: PythonValue, right: PythonValue): boolean | bigint | undefined {
  const areBools = typeof left === 'boolean' && typeof right === 'boolean';
  const [a, b] = [asNumber(left), asNumber(right)];
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return undefined;
  switch (op) {
    case '&':
      return areBools ? left && right : a & b;
    case '|':
      return areBools ? left || right : a | b;
    case '^':
      return areBools ? left !== right : a ^ b;
    case '<<':
    case '>>':
      if (b < 0n) throw new PythonError('negative shift count');
      if (b > MAX_BITS && op === '<<') throw tooLarge();
      return op === '<<' ? a << b : a >> b;
    default:
      return undefined;
  }
}
