import { halfToNumber, isComplex, type HostArray, type ScalarType } from '@cresset/tensor';
import type { Outcome, TensorCopy } from './execution.ts';

/** How far elements may be apart, as a part of the largest of their tensor (at least 1): what sums in another order come to. */
const tolerances: Partial<Record<ScalarType, number>> = {
  float32: 1e-4,
  complex64: 1e-4,
  float64: 1e-9,
  float16: 2e-2,
};

const numbersOf = ({ dtype, elements }: TensorCopy): ArrayLike<number> =>
  dtype === 'float16'
    ? Float64Array.from(elements as Uint16Array, halfToNumber)
    : Float64Array.from(elements as ArrayLike<number | bigint> as never, Number);

/** The first difference between what a call came to and what it should have; null where there is none. */
export function difference(got: Outcome, want: Outcome): string | null {
  if ('error' in got) {
    if (got.isInternal) return `an internal error: ${got.error}`;
    return 'error' in want ? null : `raised ${got.error}`;
  }
  // What fails in the program as written may be what nobody needs, and is left out.
  if ('error' in want) return want.isInternal ? `an internal error in the plain run: ${want.error}` : null;
  for (const [name, value] of want.values) {
    const found = valueDifference(got.values.get(name), value);
    if (found) return `${name}: ${found}`;
  }
  return null;
}

type Value = TensorCopy | string | undefined;

function valueDifference(got: Value, want: TensorCopy | string): string | null {
  if (!isAlike(got, want)) return `${shown(got)} for ${shown(want)}`;
  if (typeof want === 'string' || isIdentical(got.elements, want.elements)) return null;
  const [found, wanted] = [numbersOf(got), numbersOf(want)];
  const allowed = (tolerances[want.dtype] ?? 0) * largestOf(wanted);
  let count = 0;
  let first = '';
  for (let at = 0; at < wanted.length; at++) {
    const [a, b] = [found[at], wanted[at]];
    if (Object.is(a, b) || a === b || Math.abs(a - b) <= allowed) continue;
    if (isComplex(want.dtype) && isBeyondFloats(a) && isBeyondFloats(b)) continue;
    if (count++ === 0) first = `element ${at} is ${a} for ${b}`;
  }
  return count === 0 ? null : `${count} of ${wanted.length} elements, ${first}`;
}

/**
 * Whether a part of a complex number is no float32 any more, or nearly so: whether the two products that it is the sum of cancel out is a matter of how each of
 * them is rounded.
 */
const isBeyondFloats = (part: number): boolean => !(Math.abs(part) < 1e37);

/**
 * Whether a call came to single numbers that are so large that sums of their squares are none any more: a state that grows with each call. What an operator
 * makes of those hangs on the order of its sums, PyTorch's too.
 */
export function hasOverflowingSquares(outcome: Outcome): boolean {
  if ('error' in outcome) return false;
  return [...outcome.values.values()].some(
    (value) =>
      typeof value === 'object' &&
      (value.dtype === 'float32' || value.dtype === 'complex64') &&
      (value.elements as Float32Array).some((element) => Math.abs(element) > 1e15 && Math.abs(element) < Infinity),
  );
}

/** Whether two values are one, or tensors of one dtype and size. */
function isAlike(got: Value, want: TensorCopy | string): got is TensorCopy {
  if (typeof want === 'string' || typeof got !== 'object') return got === want;
  return got.dtype === want.dtype && got.sizes.join() === want.sizes.join();
}

/** The largest finite element, at least 1. */
function largestOf(numbers: ArrayLike<number>): number {
  let largest = 1;
  for (let at = 0; at < numbers.length; at++)
    if (Math.abs(numbers[at]) < Infinity) largest = Math.max(largest, Math.abs(numbers[at]));
  return largest;
}

/** How far two outcomes are apart, as a part of the largest element of the tensor where that is most; Infinity where they are not alike. */
export function distance(got: Outcome, want: Outcome): number {
  if ('error' in got || 'error' in want) return 'error' in got && 'error' in want ? 0 : Infinity;
  let most = 0;
  for (const [name, value] of want.values) {
    const own = got.values.get(name);
    if (!isAlike(own, value)) return Infinity;
    if (typeof value === 'string') continue;
    const [found, wanted] = [numbersOf(own), numbersOf(value)];
    const largest = largestOf(wanted);
    for (let at = 0; at < wanted.length; at++) {
      if (Object.is(found[at], wanted[at]) || found[at] === wanted[at]) continue;
      const apart = Math.abs(found[at] - wanted[at]) / largest;
      most = Math.max(most, Number.isNaN(apart) ? Infinity : apart);
    }
  }
  return most;
}

/** Whether all bits are the same: what most comparisons end with, and much faster than looking at elements. */
const isIdentical = (found: HostArray, wanted: HostArray): boolean => bytesOf(found).equals(bytesOf(wanted));

const bytesOf = ({ buffer, byteOffset, byteLength }: HostArray): Buffer => Buffer.from(buffer, byteOffset, byteLength);

const shown = (value: TensorCopy | string | undefined): string =>
  typeof value === 'object' ? `${value.dtype}[${value.sizes.join()}]` : String(value);

/** The number of the first call that came to something else, from 0, and how. */
export function firstDifference(
  got: readonly Outcome[],
  want: readonly Outcome[],
): { call: number; what: string } | null {
  for (let call = 0; call < Math.min(got.length, want.length); call++) {
    const what = difference(got[call], want[call]);
    if (what) return { call, what };
  }
  return null;
}
