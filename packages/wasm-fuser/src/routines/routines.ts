import type { Ordering } from '@cresset/tensorexpr';
import { elementSize, hint, isFloatingPoint, type Tensor } from '@cresset/tensor';
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
  /** Floats behind those, eight bytes each, and whether they are of double precision. */
  readonly floats?: readonly number[];
  readonly isDouble?: boolean;
  readonly lines: number;
  /** Steps of about one addition. */
  readonly stepsOfLine: number;
  /** Bytes of memory that a line is worked on in. */
  readonly scratchBytes: number;
  /** What functions look up. */
  readonly table?: Uint8Array;
}

/** Steps for an element, about, of which digits or comparisons are many. */
const STEPS = 16;
const HEAP_STEPS = 4;

/** Of sizes that may be others, those of now each time. */
export function linesOfOrdering({ keys, places, first, descending, way }: Ordering): () => RoutineLines {
  const sizes = [...keys.symSizes, places.symSizes[1]];
  const keyBytes = elementSize(keys.dtype) === 8 ? 8 : 4;
  const linesOf = (lines: number, length: number, count: number): RoutineLines => ({
    key: `order${keyBytes}`,
    define: (module) => defineOrdering(module, keyBytes),
    reads: [keys],
    stores: [places],
    numbers: orderNumbers(way, length, first, count, isFloatingPoint(keys.dtype), descending),
    lines,
    stepsOfLine: (way === 'heap' ? HEAP_STEPS : STEPS) * length,
    scratchBytes: bytesOfOrder(way, length, count, keyBytes),
  });
  return () => {
    const [lines, length, count] = sizes.map(hint);
    return linesOf(lines, length, count);
  };
}
