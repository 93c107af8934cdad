import type { IValue, MemoryMeter } from '@cresset/tensor';
import type { RunningProgram } from '../interpreter/program-place.ts';
import type { Execution } from './execution.ts';

/** How much memory tensors of a program may take, and what they take. */
export interface MemoryBudget extends MemoryMeter {
  /** Bytes. */
  readonly limit: number;
  /** The programs of the run that hold values. */
  readonly programs: Set<RunningProgram>;
  /** A run begins. @param held what outlives it: the program's attributes and constants, and the arguments */
  begin(execution: Execution, held: () => readonly IValue[]): void;
  end(): void;
}
