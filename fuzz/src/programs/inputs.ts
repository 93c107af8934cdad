import {
  isComplex,
  isFloatingPoint,
  numberToHalf,
  numelOf,
  Tensor,
  type HostArray,
  type ScalarType,
} from '@cresset/tensor';
import { Random } from '../random.ts';
import type { Call, Program } from './program.ts';

/**
 * Elements are multiples of an eighth between -3 and 3: sums of them are exact, and thresholds of programs lie between them, so that no branch
 * or mask hangs on how something is rounded.
 */
function elementsOf(count: number, seed: number): Float64Array {
  const random = new Random(seed);
  const elements = new Float64Array(count);
  for (let at = 0; at < count; at++) elements[at] = (random.below(49) - 24) / 8;
  return elements;
}

const arrays: Partial<Record<ScalarType, (elements: Float64Array) => HostArray>> = {
  float32: (elements) => Float32Array.from(elements),
  float64: (elements) => elements,
  float16: (elements) => Uint16Array.from(elements, numberToHalf),
  int64: (elements) => BigInt64Array.from(Array.from(elements, (each) => BigInt(Math.trunc(each * 2)))),
  int32: (elements) => Int32Array.from(elements, (each) => Math.trunc(each * 2)),
  uint8: (elements) => Uint8Array.from(elements, (each) => Math.abs(Math.trunc(each * 4))),
  bool: (elements) => Uint8Array.from(elements, (each) => Number(each > 0)),
  complex64: (elements) => Float32Array.from(elements),
};

/** The dtypes that programs are about, as often as they come up. */
export const DTYPES: readonly ScalarType[] = [
  ...Array.from({ length: 12 }, () => 'float32' as const),
  ...(['float64', 'float64', 'int64', 'int64', 'int32', 'uint8', 'bool', 'complex64', 'float16'] as const),
];

/** Those whose tensors are given gradients. */
export const FLOATS: readonly ScalarType[] = DTYPES.filter(isFloatingPoint);

/** What was made last, by what it was made of: a program is run some twenty times, with the same few arguments. */
const recent = new Map<string, HostArray>();
const MOST_RECENT = 32;

/** @param nudge how far each element of a floating dtype is moved, as a part of it */
export function randomTensor(sizes: readonly number[], dtype: ScalarType, seed: number, nudge = 0): Tensor {
  const count = numelOf(sizes) * (isComplex(dtype) ? 2 : 1);
  const key = `${dtype} ${count} ${seed} ${nudge}`;
  let made = recent.get(key);
  if (!made) {
    if (recent.size === MOST_RECENT) recent.delete(recent.keys().next().value!);
    recent.set(key, (made = arrays[dtype]!(nudgedElements(count, dtype, seed, nudge))));
  }
  return Tensor.fromArray(made.slice() as HostArray, sizes, dtype);
}

function nudgedElements(count: number, dtype: ScalarType, seed: number, nudge: number): Float64Array {
  const elements = elementsOf(count, seed);
  // Another nudge moves other elements up.
  const random = new Random(seed + Math.round(nudge * 1e13));
  if (nudge !== 0 && (isFloatingPoint(dtype) || isComplex(dtype)))
    // Up and down at random: what goes up and down in turns, sums would not notice.
    elements.forEach((each, at) => (elements[at] = each * (1 + (random.chance(0.5) ? nudge : -nudge))));
  return elements;
}

export interface Arguments {
  readonly x: Tensor;
  readonly y: Tensor;
  readonly n: number;
  readonly l: readonly Tensor[];
}

/** What a call is given, made anew each time. */
export function argumentsOf(
  { dtype, isAliased }: Pick<Program, 'dtype' | 'isAliased'>,
  call: Call,
  nudge = 0,
): Arguments {
  const make = (place: number): Tensor => randomTensor(call.sizes, dtype, call.seed * 8 + place, nudge);
  const x = make(0);
  return { x, y: isAliased ? x : make(1), n: call.n, l: [make(2), make(3)] };
}

export const stateOf = (
  { seed, dtype, stateSizes }: Pick<Program, 'seed' | 'dtype' | 'stateSizes'>,
  nudge = 0,
): Tensor => randomTensor(stateSizes, dtype, seed * 8 + 7, nudge);
