import { scratch } from '@cresset/tensor';
import { check } from './errors.ts';

/** Positions of 32 bits reach so many elements. */
const MOST_POSITIONS = 2 ** 31;

/** Throws where elements are more than positions of 32 bits reach. */
export function checkPositions(count: number): void {
  check(
    count <= MOST_POSITIONS,
    () => `${count} elements are more than this operator counts, which is ${MOST_POSITIONS}`,
  );
}

/** Room for a position of each of so many elements. */
export function positionsFor(count: number): Int32Array {
  checkPositions(count);
  return scratch(Int32Array, count);
}
