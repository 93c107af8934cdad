import { forEachOffset, numelOf } from '@cresset/tensor';

/**
 * Work that stops every few milliseconds, so that others may get a turn, or end it: a message that a run is aborted is only heard when
 * nothing computes.
 */
export type Pieces<Result = void> = Generator<void, Result, void>;

/** Does all of it at once. */
export function finish<Result>(pieces: Pieces<Result>): Result {
  let step = pieces.next();
  while (!step.done) step = pieces.next();
  return step.value;
}

/** Tells work that is in pieces from a result. */
export const isInPieces = <Result>(value: Result | Pieces<Result>): value is Pieces<Result> =>
  typeof (value as Pieces<Result> | null)?.next === 'function';

/** Operations on single elements between two stops. */
export const PIECE_SIZE = 1 << 22;

/** Elements of which whole expressions are worked out between two stops. */
export const TURN_SIZE = 1 << 16;

/**
 * Calls `body` for 0 … `count` − 1, or until it gives false, with stops as operations add up, of which each call takes `cost`. What takes
 * the time stands in `body`, an ordinary function.
 */
export function* repeat(count: number, cost: number, body: (index: number) => boolean | void): Pieces {
  const atOnce = Math.max(1, Math.floor(PIECE_SIZE / cost));
  for (let start = 0; start < count; start += atOnce) {
    if (start > 0) yield;
    const end = Math.min(count, start + atOnce);
    for (let index = start; index < end; index++) if (body(index) === false) return;
  }
}

/**
 * Calls `body` for each of `groups` with all its elements, or with as many runs of them as stops ask for, where an element takes `cost`. A
 * group without elements is one run.
 */
export function* inRuns(
  groups: number,
  count: number,
  cost: number,
  body: (group: number, start: number, end: number) => void,
): Pieces {
  const atOnce = Math.max(1, Math.floor(PIECE_SIZE / cost));
  let done = 0;
  for (let group = 0; group < groups; group++) {
    let start = 0;
    do {
      if (done >= atOnce) {
        done = 0;
        yield;
      }
      const end = Math.min(count, start + atOnce - done);
      body(group, start, end);
      done += end - start + 1;
      start = end;
    } while (start < count);
  }
}

/** Calls `visit` with the storage offset of every element, in C order, with stops as for `repeat`. */
export function* eachOffset(
  sizes: readonly number[],
  strides: readonly number[],
  storageOffset: number,
  cost: number,
  visit: (offset: number) => void,
): Pieces {
  const work = numelOf(sizes) * cost;
  const dim = sizes.findIndex((size) => size > 1);
  if (work <= PIECE_SIZE || dim < 0) return forEachOffset(sizes, strides, storageOffset, visit);
  const length = Math.max(1, Math.floor((PIECE_SIZE / work) * sizes[dim]));
  for (let start = 0; start < sizes[dim]; start += length) {
    if (start > 0) yield;
    const own = sizes.with(dim, Math.min(length, sizes[dim] - start));
    yield* eachOffset(own, strides, storageOffset + start * strides[dim], cost, visit);
  }
}

/** Fills an array with what `value` gives for 0, 1, … , with stops as for `repeat`. */
export function* filled<Elements extends { readonly length: number; [index: number]: number | bigint }>(
  array: Elements,
  cost: number,
  value: (index: number) => Elements[number],
): Pieces<Elements> {
  yield* repeat(array.length, cost, (at) => void (array[at] = value(at)));
  return array;
}
