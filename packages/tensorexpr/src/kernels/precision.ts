import type { ScalarType } from '@cresset/tensor';
import { hasExpr } from '../expressions/walk.ts';
import { expressionsIn, type Contraction, type LoopNest, type Recurrence } from './kernel.ts';

type SomeKernel = LoopNest | Recurrence | Omit<Contraction, 'k'>;

/** Whether a kernel computes with floats of double precision: it does where an operand is of float64. */
export function computesDoubles(kernel: SomeKernel): boolean {
  return (
    kernel.stores.some(({ operand }) => operand.dtype === 'float64') ||
    hasExpr(expressionsIn(kernel), (expr) => expr.kind === 'load' && expr.operand.dtype === 'float64')
  );
}

/**
 * Whether a kernel that was made of others computes as they did: in the precision of the elements that one read and another stored, which nobody rounds
 * any more.
 */
export function keepsPrecision(between: ScalarType, whole: SomeKernel, ...parts: readonly SomeKernel[]): boolean {
  return [whole, ...parts].every((kernel) => computesDoubles(kernel) === (between === 'float64'));
}
