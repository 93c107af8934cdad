import { Dict, EnumValue, List, Tensor, Tuple } from '@cresset/tensor';
import type { BinaryOperator, UnaryOperator } from '../../parser/tree.ts';
import { binaryOperation, isEqual, isTruthy, PythonError, unaryOperation } from '../python-arithmetic.ts';
import { PythonEntity, pythonRepr, pythonTypeName, type PythonValue } from '../python-value.ts';
import { dictOf, entriesOf, getItem, itemsIn, listOf, setItem, tupleOf } from './containers.ts';
import {
  BoundMethod,
  NOT_IMPLEMENTED,
  PythonClass,
  PythonIterator,
  PythonObject,
  PythonSet,
  PythonSlice,
} from './entities.ts';
import { formatPercent } from './formatting.ts';
import type { Interpreter } from './interpreter.ts';

const METHODS: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'truediv',
  '//': 'floordiv',
  '%': 'mod',
  '**': 'pow',
  '@': 'matmul',
  '&': 'and',
  '|': 'or',
  '^': 'xor',
  '<<': 'lshift',
  '>>': 'rshift',
  '<': 'lt',
  '>': 'gt',
  '<=': 'le',
  '>=': 'ge',
  '==': 'eq',
  '!=': 'ne',
};

/** What the other operand has for a comparison that the first has not. */
const REFLECTED: Readonly<Record<string, string>> = { lt: 'gt', gt: 'lt', le: 'ge', ge: 'le', eq: 'eq', ne: 'ne' };

/** A binary operator on whatever has it: numbers, containers, tensors, objects with methods for it. */
export function applyBinary(
  python: Interpreter,
  op: BinaryOperator,
  left: PythonValue,
  right: PythonValue,
): PythonValue {
  if (op === 'in') return contains(python, right, left);
  if (op === 'is') return isSame(left, right);
  if (op === 'is not') return !isSame(left, right);
  if (left instanceof Tensor || right instanceof Tensor) {
    if ((op === '==' || op === '!=') && (left === null || right === null)) return op === '!=';
    return python.tensors.binary(op, left, right);
  }
  if (left instanceof PythonObject || right instanceof PythonObject) return ofObjects(python, op, left, right);
  if (op === '==' || op === '!=') return equals(python, left, right) === (op === '==');
  if (op === '%' && typeof left === 'string') return formatPercent(python, left, right);
  if (left instanceof PythonSet && right instanceof PythonSet) return ofSets(op, left, right);
  if (op === '|' && left instanceof Dict && right instanceof Dict) {
    return dictOf([...entriesOf(left), ...entriesOf(right)]);
  }
  return binaryOperation(op, left, right);
}

/** Small values are one object in Python where they are equal. */
function isSame(left: PythonValue, right: PythonValue): boolean {
  if (left instanceof EnumValue && right instanceof EnumValue) return left.equals(right);
  return Object.is(left, right);
}

function equals(python: Interpreter, left: PythonValue, right: PythonValue): boolean {
  if (left instanceof EnumValue && right instanceof EnumValue) return left.equals(right);
  if (left instanceof PythonSet && right instanceof PythonSet) {
    return left.items.length === right.items.length && left.items.every((item) => contains(python, right, item));
  }
  return isEqual(left, right);
}

function ofObjects(python: Interpreter, op: BinaryOperator, left: PythonValue, right: PythonValue): PythonValue {
  const method = METHODS[op]!;
  const tried = tryMethod(python, left, `__${method}__`, right);
  if (tried !== NOT_IMPLEMENTED) return tried;
  const other = tryMethod(python, right, `__${REFLECTED[method] ?? `r${method}`}__`, left);
  if (other !== NOT_IMPLEMENTED) return other;
  if (op === '!=') return !python.isTruthy(ofObjects(python, '==', left, right));
  if (op === '==') return left === right;
  return binaryOperation(op, left, right);
}

function tryMethod(python: Interpreter, self: PythonValue, name: string, other: PythonValue): PythonValue {
  const method = self instanceof PythonObject ? self.type.find(name) : undefined;
  return method === undefined ? NOT_IMPLEMENTED : python.call(new BoundMethod(self, method), [other]);
}

function ofSets(op: BinaryOperator, left: PythonSet, right: PythonSet): PythonValue {
  const inRight = (item: PythonValue): boolean => right.items.some((each) => isEqual(each, item));
  const inLeft = (item: PythonValue): boolean => left.items.some((each) => isEqual(each, item));
  switch (op) {
    case '|':
      return new PythonSet([...left.items, ...right.items.filter((item) => !inLeft(item))]);
    case '&':
      return new PythonSet(left.items.filter(inRight));
    case '-':
      return new PythonSet(left.items.filter((item) => !inRight(item)));
    case '^':
      return new PythonSet([
        ...left.items.filter((item) => !inRight(item)),
        ...right.items.filter((item) => !inLeft(item)),
      ]);
    case '<=':
      return left.items.every(inRight);
    case '>=':
      return right.items.every(inLeft);
    default:
      return binaryOperation(op, left, right);
  }
}

/** `items` with one more, unless it is there. */
export function addToSet(items: PythonValue[], item: PythonValue): PythonValue[] {
  if (!items.some((each) => each === item || isEqual(each, item))) items.push(item);
  return items;
}

/** `left op= right`, for all but lists. */
export function applyInPlace(
  python: Interpreter,
  op: BinaryOperator,
  left: PythonValue,
  right: PythonValue,
): PythonValue {
  if (left instanceof Tensor) return python.tensors.inPlace(op, left, right);
  const changed = tryMethod(python, left, `__i${METHODS[op]}__`, right);
  return changed === NOT_IMPLEMENTED ? python.binary(op, left, right) : changed;
}

export function applyUnary(python: Interpreter, op: UnaryOperator, value: PythonValue): PythonValue {
  if (op === 'not') return !truthOf(python, value);
  if (value instanceof Tensor) return python.tensors.unary(op, value);
  if (value instanceof PythonObject) {
    const method = value.type.find(op === '-' ? '__neg__' : op === '~' ? '__invert__' : '__pos__');
    if (method !== undefined) return python.call(new BoundMethod(value, method), []);
  }
  return unaryOperation(op, value);
}

/** `bool(value)` */
export function truthOf(python: Interpreter, value: PythonValue): boolean {
  if (value instanceof Tensor) return Boolean(python.tensors.item(value));
  if (value instanceof PythonSet) return value.items.length > 0;
  if (value instanceof PythonObject) {
    const method = value.type.find('__bool__');
    if (method !== undefined) return python.call(new BoundMethod(value, method), []) === true;
    const length = value.type.find('__len__');
    return length === undefined || python.call(new BoundMethod(value, length), []) !== 0n;
  }
  return value instanceof PythonEntity || isTruthy(value);
}

function contains(python: Interpreter, container: PythonValue, item: PythonValue): boolean {
  if (container instanceof PythonSet) return container.items.some((each) => each === item || isEqual(each, item));
  if (container instanceof PythonObject) {
    const method = container.type.find('__contains__');
    if (method !== undefined) return python.isTruthy(python.call(new BoundMethod(container, method), [item]));
  }
  if (container instanceof PythonEntity) {
    for (const each of python.iterate(container)) if (each === item || isEqual(each, item)) return true;
    return false;
  }
  return binaryOperation('in', item, container) === true;
}

/** What a loop goes over. Throws a PythonError for what is no iterable. */
export function iterateOver(python: Interpreter, value: PythonValue): Iterable<PythonValue> {
  if (value instanceof List || value instanceof Tuple) return itemsIn(value);
  if (value instanceof PythonSet) return [...value.items];
  if (value instanceof Dict) return [...value.entries.keys()];
  if (typeof value === 'string') return value;
  if (value instanceof PythonIterator) return remaining(value);
  if (value instanceof Tensor) return python.tensors.rows(value);
  if (value instanceof PythonClass) {
    const members = value.nativePart('getAttribute')?.('__members__');
    if (members instanceof Dict) return entriesOf(members).map(([, member]) => member);
  }
  if (value instanceof PythonObject) {
    const iter = value.type.find('__iter__');
    if (iter !== undefined) {
      const given = python.call(new BoundMethod(value, iter), []);
      return given === value ? viaNext(python, value) : python.iterate(given);
    }
    if (value.type.find('__getitem__') !== undefined) return viaItems(python, value);
    if (value.type.find('__next__') !== undefined) return viaNext(python, value);
  }
  throw new PythonError(`'${pythonTypeName(value)}' object is not iterable`);
}

/** What an iterator has left: one who stops early leaves the rest to others. */
function remaining({ iterator }: PythonIterator): Iterable<PythonValue> {
  return { [Symbol.iterator]: () => ({ next: () => iterator.next() }) };
}

function* viaNext(python: Interpreter, value: PythonValue): Iterable<PythonValue> {
  for (;;) {
    try {
      yield python.call(python.getAttribute(value, '__next__'), []);
    } catch (error) {
      if (python.isExceptionNamed(error, 'StopIteration')) return;
      throw error;
    }
  }
}

function* viaItems(python: Interpreter, value: PythonValue): Iterable<PythonValue> {
  for (let at = 0n; ; at++) {
    try {
      yield python.getItem(value, at);
    } catch (error) {
      if (python.isExceptionNamed(error, 'IndexError')) return;
      throw error;
    }
  }
}

/** `len(value)` */
export function lengthOf(python: Interpreter, value: PythonValue): bigint {
  if (value instanceof List || value instanceof Tuple || value instanceof PythonSet) return BigInt(value.items.length);
  if (value instanceof Dict) return BigInt(value.entries.size);
  if (typeof value === 'string') return BigInt(value.length);
  if (value instanceof Tensor && value.dim > 0) return BigInt(value.sizes[0]!);
  if (value instanceof PythonObject) {
    const method = value.type.find('__len__');
    if (method !== undefined) return python.call(new BoundMethod(value, method), []) as bigint;
  }
  if (value instanceof PythonClass) return BigInt([...iterateOver(python, value)].length);
  throw new PythonError(`object of type '${pythonTypeName(value)}' has no len()`);
}

// ---- subscripts

/** `value[key]` */
export function itemOf(python: Interpreter, value: PythonValue, key: PythonValue): PythonValue {
  if (value instanceof Tensor) return python.tensors.getItem(value, key);
  if (value instanceof Dict) {
    const found = getItem(value, key);
    if (found !== undefined) return found;
    throw new PythonError(pythonRepr(key), 'KeyError', [key]);
  }
  if (value instanceof PythonObject) return python.call(python.getAttribute(value, '__getitem__'), [key]);
  if (value instanceof PythonClass) {
    const member = typeof key === 'string' ? value.nativePart('getAttribute')?.(key) : undefined;
    if (member !== undefined) return member;
  }
  if (!(value instanceof List || value instanceof Tuple || typeof value === 'string')) {
    throw new PythonError(`'${pythonTypeName(value)}' object is not subscriptable`);
  }
  const items: readonly PythonValue[] = typeof value === 'string' ? [...value] : itemsIn(value);
  if (key instanceof PythonSlice) {
    const part = sliceIndices(key, items.length).map((at) => items[at]!);
    return typeof value === 'string' ? part.join('') : value instanceof List ? listOf(part) : tupleOf(part);
  }
  return items[indexOf(value, key, items.length)]!;
}

function indexOf(value: PythonValue, key: PythonValue, length: number): number {
  const type = pythonTypeName(value);
  const index = key instanceof Tensor && key.numel === 1 ? BigInt(Number(key.contiguousArray()[0])) : key;
  if (typeof index !== 'bigint' && typeof index !== 'boolean') {
    throw new PythonError(`${type} indices must be integers or slices, not ${pythonTypeName(key)}`);
  }
  const at = Number(index) < 0 ? Number(index) + length : Number(index);
  if (at < 0 || at >= length) throw new PythonError(`${type} index out of range`, 'IndexError');
  return at;
}

/** The places that a slice takes of a sequence. */
export function sliceIndices({ start, stop, step }: PythonSlice, size: number): number[] {
  const bound = (value: PythonValue): number | undefined => {
    if (value === null) return undefined;
    if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
    throw new PythonError('slice indices must be integers or None or have an __index__ method');
  };
  const by = bound(step) ?? 1;
  if (by === 0) throw new PythonError('slice step cannot be zero', 'ValueError');
  const [low, high] = by > 0 ? [0, size] : [-1, size - 1];
  const clamped = (at: number): number => Math.min(Math.max(at < 0 ? at + size : at, low), high);
  const [from, to] = [bound(start), bound(stop)];
  const end = to === undefined ? (by > 0 ? size : -1) : clamped(to);
  const places: number[] = [];
  const first = from === undefined ? (by > 0 ? 0 : size - 1) : clamped(from);
  for (let at = first; by > 0 ? at < end : at > end; at += by) places.push(at);
  return places;
}

/** `value[key] = given` */
export function setItemOf(python: Interpreter, value: PythonValue, key: PythonValue, given: PythonValue): void {
  if (value instanceof Dict) {
    setItem(value, key, given);
  } else if (value instanceof Tensor) {
    python.tensors.setItem(value, key, given);
  } else if (value instanceof List) {
    const items = value.items as PythonValue[];
    if (key instanceof PythonSlice) {
      const places = sliceIndices(key, items.length);
      const values = [...python.iterate(given)];
      if (key.step === null || key.step === 1n)
        items.splice(places[0] ?? startOf(key, items.length), places.length, ...values);
      else places.forEach((place, at) => (items[place] = values[at]!));
    } else {
      items[indexOf(value, key, items.length)] = given;
    }
  } else if (value instanceof PythonObject) {
    python.call(python.getAttribute(value, '__setitem__'), [key, given]);
  } else {
    throw new PythonError(`'${pythonTypeName(value)}' object does not support item assignment`);
  }
}

function startOf({ start }: PythonSlice, size: number): number {
  if (start === null) return 0;
  const at = Number(start as bigint);
  return Math.min(Math.max(at < 0 ? at + size : at, 0), size);
}

/** Whether two values stand in an order, by `<`. */
export function isLess(python: Interpreter, left: PythonValue, right: PythonValue): boolean {
  return python.isTruthy(python.binary('<', left, right));
}
