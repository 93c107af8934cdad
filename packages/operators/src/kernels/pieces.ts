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
