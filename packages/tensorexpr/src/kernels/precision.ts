import type { ScalarType } from '@cresset/tensor';
import { loadsIn } from '../expressions/walk.ts';
import { expressionsIn, type Contraction, type LoopNest, type Recurrence } from './kernel.ts';

type SomeKernel = LoopNest | Recurrence | Omit<Contraction, 'k'>;

/** Whether a kernel computes with floats of double precision: it does where an operand is of float64. */
export const computesDoubles = (kernel: SomeKernel): boolean =>
  [...kernel.stores, ...loadsIn(expressionsIn(kernel))].some(({ operand }) => operand.dtype === 'float64');

/**
 * Whether a kernel that was made of others computes as they did: in the precision of the elements that one read and another stored, which nobody rounds
 * any more.
 */
export function keepsPrecision(between: ScalarType, whole: SomeKernel, ...parts: readonly SomeKernel[]): boolean {
  return [whole, ...parts].every((kernel) => computesDoubles(kernel) === (between === 'float64'));
}
