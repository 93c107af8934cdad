import { Complex } from '@cresset/ir';
import {
  bfloatToNumber,
  Dict,
  halfToNumber,
  isComplex,
  List,
  Tensor,
  Tuple,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';

/** How far two numbers may be apart: `absolute + relative * |expected|`. */
export interface Tolerance {
  readonly relative: number;
  readonly absolute: number;
}

/** Where two values are furthest apart. */
export interface Difference {
  readonly maxDifference: number;
  readonly index: readonly number[];
  readonly expected: number;
  readonly actual: number;
}

/** What a dtype's numbers may differ by after one operator on another device, where float64 is float32. */
const TOLERANCES: Partial<Record<ScalarType, Tolerance>> = {
  float16: { relative: 2e-3, absolute: 1e-3 },
  bfloat16: { relative: 2e-2, absolute: 1e-2 },
};
const EXACT: Tolerance = { relative: 0, absolute: 0 };
const FLOAT: Tolerance = { relative: 1e-4, absolute: 1e-5 };

export function toleranceFor(dtype: ScalarType): Tolerance {
  return /^(?:bool|u?int\d+)$/.test(dtype) ? EXACT : (TOLERANCES[dtype] ?? FLOAT);
}

/** What is not the same in two tensors: a text where sizes or dtypes differ already, null where all is within tolerance. */
export function tensorDifference(
  expected: Tensor,
  actual: Tensor,
  tolerance: Tolerance | null,
): Difference | string | null {
  const kind = (tensor: Tensor): string => `${tensor.dtype}[${tensor.sizes.join(', ')}]`;
  if (kind(expected) !== kind(actual)) return `${kind(actual)} instead of ${kind(expected)}`;
  const { relative, absolute } = tolerance ?? toleranceFor(expected.dtype);
  const left = numbersOf(expected);
  const right = numbersOf(actual);
  let worst = -1;
  let worstExcess = 0;
  for (let at = 0; at < left.length; at++) {
    const excess = Math.abs(left[at] - right[at]) - (absolute + relative * Math.abs(left[at]));
    if (isSame(left[at], right[at]) || excess <= worstExcess) {
      // NaN compares with nothing, so a NaN on one side only goes on.
      if (!Number.isNaN(excess) || isSame(left[at], right[at])) continue;
    }
    worst = at;
    worstExcess = Number.isNaN(excess) ? Infinity : excess;
  }
  if (worst === -1) return null;
  return {
    maxDifference: Number.isNaN(left[worst] - right[worst]) ? Infinity : Math.abs(left[worst] - right[worst]),
    index: indexOf(isComplex(expected.dtype) ? worst >>> 1 : worst, expected.sizes),
    expected: left[worst],
    actual: right[worst],
  };
}

/** The largest finite number of a tensor, without its sign. */
export function largestOf(tensor: Tensor): number {
  const numbers = numbersOf(tensor);
  let largest = 0;
  for (let at = 0; at < numbers.length; at++) {
    const size = Math.abs(numbers[at]);
    if (size > largest && size < Infinity) largest = size;
  }
  return largest;
}

function isSame(left: number, right: number): boolean {
  return left === right || (Number.isNaN(left) && Number.isNaN(right));
}

function numbersOf(tensor: Tensor): ArrayLike<number> {
  const array = tensor.contiguousArray();
  if (tensor.dtype === 'float16') return Array.from(array as Uint16Array, halfToNumber);
  if (tensor.dtype === 'bfloat16') return Array.from(array as Uint16Array, bfloatToNumber);
  return array instanceof BigInt64Array ? Array.from(array, Number) : (array as Float32Array);
}

function indexOf(position: number, sizes: readonly number[]): number[] {
  const index: number[] = [];
  let rest = position;
  for (const size of [...sizes].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

/** The parts of two values that can be compared, side by side; what is not of one structure is a text. */
export function* comparableParts(
  expected: IValue,
  actual: IValue,
): Iterable<readonly [expected: Tensor, actual: Tensor] | string> {
  if (expected instanceof Tensor && actual instanceof Tensor) {
    yield [expected, actual];
  } else if (isSequence(expected) && isSequence(actual)) {
    if (expected.items.length !== actual.items.length) {
      yield `${actual.items.length} items instead of ${expected.items.length}`;
      return;
    }
    for (let at = 0; at < expected.items.length; at++) yield* comparableParts(expected.items[at], actual.items[at]);
  } else if (expected instanceof Dict && actual instanceof Dict) {
    for (const [key, value] of expected.entries)
      yield* comparableParts(value, actual.entries.get(actual.storedKey(key)) ?? null);
  } else if (expected instanceof Complex && actual instanceof Complex) {
    if (!isSame(expected.re, actual.re) || !isSame(expected.im, actual.im)) yield 'another complex number';
  } else if (typeof expected !== 'object' || expected === null) {
    const same =
      typeof expected === 'number' && typeof actual === 'number' ? isClose(expected, actual) : expected === actual;
    if (!same) yield `${String(actual)} instead of ${String(expected)}`;
  }
}

function isClose(expected: number, actual: number): boolean {
  return (
    isSame(expected, actual) || Math.abs(expected - actual) <= FLOAT.absolute + FLOAT.relative * Math.abs(expected)
  );
}

function isSequence(value: IValue): value is List | Tuple {
  return value instanceof List || value instanceof Tuple;
}
