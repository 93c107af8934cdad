import type { Routine } from '@cresset/tensorexpr';
import { elementSize, isFloatingPoint, type Tensor } from '@cresset/tensor';
import type { ModuleBuilder } from '../module.ts';
import { bytesOfOrder, defineOrdering, orderNumbers } from './ordering.ts';

/** How a routine is done: lines that have nothing to do with each other. */
export interface RoutineLines {
  /** The same for all that share a module. */
  readonly key: string;
  define(module: ModuleBuilder): void;
  /** What is read, and then what is written. */
  readonly reads: readonly Tensor[];
  readonly stores: readonly Tensor[];
  /** Integers of 32 bits that functions find behind these. */
  readonly numbers: readonly number[];
  readonly lines: number;
  /** Steps of about one addition. */
  readonly stepsOfLine: number;
  /** Bytes of memory that a line is worked on in. */
  readonly scratchBytes: number;
}

/** Steps for an element, about, of which digits or comparisons are many. */
const STEPS = 16;
const HEAP_STEPS = 4;

export function linesOf({ keys, places, first, descending, way }: Routine): RoutineLines {
  const [lines, length] = keys.sizes;
  const [, count] = places.sizes;
  const keyBytes = elementSize(keys.dtype) === 8 ? 8 : 4;
  return {
    key: `order${keyBytes}`,
    define: (module) => defineOrdering(module, keyBytes),
    reads: [keys],
    stores: [places],
    numbers: orderNumbers(way, length, first, count, isFloatingPoint(keys.dtype), descending),
    lines,
    stepsOfLine: (way === 'heap' ? HEAP_STEPS : STEPS) * length,
    scratchBytes: bytesOfOrder(way, length, count, keyBytes),
  };
}
