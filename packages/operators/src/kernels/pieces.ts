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
