import type { Code } from '../../interpreter/code/code.ts';

/** The body of a loop that only the number of its trips ends: the registers of that, and of how many there were. */
export interface LoopBody {
  /** What the body knows as the number of its trip. */
  readonly trip: number;
  readonly maxTrips: number;
  /** Trips that have begun. */
  readonly counter: number;
  /** Whether there is to be another trip. */
  readonly goesOn: number;
  /** The jump back to the head. */
  readonly end: number;
}

/** A loop that has begun a trip, and will make so many in all. */
export interface LoopInProgress {
  readonly body: LoopBody;
  readonly trip: number;
  readonly trips: number;
}

/** The loop whose body begins with the instruction `at`; null where none does. */
export function loopBodyAt({ instructions }: Code, at: number): LoopBody | null {
  const head = at > 0 ? instructions[at - 1] : null;
  if (head?.op !== 'LOOP') return null;
  const [maxTrips, goesOn, counter] = head.inputs;
  return { trip: head.outputs[0], maxTrips, counter, goesOn, end: head.operand.target - 1 };
}
