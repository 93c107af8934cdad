import type { Graph } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import type { Instruction } from './instruction.ts';

/** A function as the interpreter runs it (torch::jit::Code): a list of instructions over numbered registers. */
export interface Code {
  /** For call stacks: `forward`. */
  readonly name: string;
  readonly graph: Graph;
  readonly instructions: readonly Instruction[];
  readonly constants: readonly IValue[];
  /** The same, ints as numbers where these are exact. */
  readonly plainConstants: readonly IValue[];
  readonly registerCount: number;
  /** The arguments lie in registers 0 … parameterCount - 1. */
  readonly parameterCount: number;
  /** Registers of values of type `int`: those hold numbers where these are exact, and bigints else. */
  readonly intRegisters: readonly boolean[];
  /** Registers of lists that never change after they are made and are not kept by what they are given to. */
  readonly countedLists: ReadonlySet<number>;
  /** Whether somebody watches it run, to have other code run from then on: nothing is recorded of it. */
  readonly isWatched?: boolean;
}

/** Something that has code, compiled when it is first called. */
export interface CodeSource {
  /** For call stacks and printing. */
  readonly name: string;
  /** @param args what it is going to be called with, where the executor is to choose its code by that */
  code(args?: readonly IValue[]): Code;
}
