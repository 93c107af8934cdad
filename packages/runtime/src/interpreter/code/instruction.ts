import type { ClassType, Node, TupleType, Type } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import type { FusionGroup } from '../../dispatch/fusion-group.ts';
import type { DirectBinding } from '../direct-operators.ts';
import type { OperatorBinding } from './operator-binding.ts';
import type { CodeSource } from './code.ts';
import type { InterpreterState } from '../interpreter-state.ts';

/**
 * What an executor does at a node of its own (profiling, guards, groups): gives the node's outputs, or undefined where it had the state
 * go on in other code.
 */
export type Callback = (
  inputs: readonly IValue[],
  state: InterpreterState,
) => readonly IValue[] | Promise<readonly IValue[]> | undefined;

/**
 * What each instruction carries besides its registers. This list is the instruction set: printer, verifier, compiler and
 * interpreter are all typed by it.
 */
export interface InstructionOperands {
  /** Calls an operator of the operator table. */
  readonly OP: OperatorBinding;
  /** Calls an operator of numbers, strings or containers on what its registers hold, for one result that is a number, a flag or a string. */
  readonly DIRECT: DirectBinding;
  /** Runs a fused group, as one kernel where it can. */
  readonly FUSION_GROUP: FusionGroup;
  /** Asks whoever made the plan (PyTorch: PROFILE_OP, TYPECHECK, GUARD). */
  readonly CALLBACK: Callback;
  /** Copies all inputs to the outputs at once: a loop may swap its variables. */
  readonly MOVE: null;
  /** As MOVE, of numbers, flags and strings that can be copied one after the other. */
  readonly MOVE_PLAIN: null;
  /** Gives up registers only. */
  readonly DROP: null;
  readonly JUMP: JumpTarget;
  /** Jumps where the input is False. */
  readonly JUMP_IF_FALSE: JumpTarget;
  /** Resets the counter register of a loop. */
  readonly LOOP_BEGIN: null;
  /** Inputs: trip count, condition, counter. Jumps when the loop is over, else advances the counter and gives its value. */
  readonly LOOP: JumpTarget;
  readonly LIST_CONSTRUCT: Type;
  readonly LIST_UNPACK: null;
  readonly TUPLE_CONSTRUCT: TupleType | null;
  readonly TUPLE_UNPACK: null;
  readonly TUPLE_INDEX: null;
  readonly TUPLE_SLICE: { readonly begin: number; readonly end: number };
  readonly DICT_CONSTRUCT: { readonly keyType: Type; readonly valueType: Type };
  readonly CREATE_OBJECT: ClassType;
  /** An attribute that may not be None, and is, has no value yet. */
  readonly GET_ATTR: { readonly slot: number; readonly name: string; readonly mayBeNone: boolean };
  readonly SET_ATTR: { readonly slot: number; readonly name: string };
  readonly ISINSTANCE: readonly Type[];
  /** Inputs: tensor, number of dimensions, code of the element type. */
  readonly TO_LIST: Type;
  /** Sorts a list with objects in it; without outputs, in place. Inputs: the list and, in place, whether in reverse. */
  readonly SORT: null;
  /** Calls code that is known when the instruction is made. */
  readonly CALL: CodeSource;
  /** Calls the method of this name of the class its first input turns out to have. */
  readonly INTERFACE_CALL: string;
  readonly FORK: CodeSource;
  /** A fork that starts when its result is first waited for. */
  readonly AWAITABLE: CodeSource;
  readonly WAIT: null;
  /** Calls `__enter__` of its input. */
  readonly ENTER: null;
  /** Calls `__exit__` of its input. */
  readonly EXIT: null;
  readonly RAISE: null;
  readonly PRINT: null;
  readonly RETURN: null;
}

/** Index of an instruction; set once the end of the stretch that is jumped over is known. */
export interface JumpTarget {
  target: number;
}

export type OpCode = keyof InstructionOperands;

/**
 * One step. Registers are numbers from 0; an input below 0 is a constant: `~input` is its index. `clears` are the registers
 * that hold their value for the last time: they are given up once the instruction is done.
 */
export interface InstructionOf<K extends OpCode> {
  readonly op: K;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly operand: InstructionOperands[K];
  clears: readonly number[];
  /** Where it comes from: errors are told at this node's place in the source. */
  readonly node: Node;
}

export type Instruction = { [K in OpCode]: InstructionOf<K> }[OpCode];

interface InstructionShape {
  /** Numbers of inputs and outputs; null for any number. */
  readonly inputs: number | null;
  readonly outputs: number | null;
}

/** What the verifier holds every instruction to. */
export const instructionShapes: Readonly<Record<OpCode, InstructionShape>> = {
  OP: { inputs: null, outputs: null },
  FUSION_GROUP: { inputs: null, outputs: null },
  CALLBACK: { inputs: null, outputs: null },
  DIRECT: { inputs: null, outputs: 1 },
  MOVE: { inputs: null, outputs: null },
  MOVE_PLAIN: { inputs: null, outputs: null },
  DROP: { inputs: 0, outputs: 0 },
  JUMP: { inputs: 0, outputs: 0 },
  JUMP_IF_FALSE: { inputs: 1, outputs: 0 },
  LOOP_BEGIN: { inputs: 0, outputs: 1 },
  LOOP: { inputs: 3, outputs: 1 },
  LIST_CONSTRUCT: { inputs: null, outputs: 1 },
  LIST_UNPACK: { inputs: 1, outputs: null },
  TUPLE_CONSTRUCT: { inputs: null, outputs: 1 },
  TUPLE_UNPACK: { inputs: 1, outputs: null },
  TUPLE_INDEX: { inputs: 2, outputs: 1 },
  TUPLE_SLICE: { inputs: 1, outputs: 1 },
  DICT_CONSTRUCT: { inputs: null, outputs: 1 },
  CREATE_OBJECT: { inputs: 0, outputs: 1 },
  GET_ATTR: { inputs: 1, outputs: 1 },
  SET_ATTR: { inputs: 2, outputs: 0 },
  ISINSTANCE: { inputs: 1, outputs: 1 },
  TO_LIST: { inputs: 3, outputs: 1 },
  SORT: { inputs: null, outputs: null },
  CALL: { inputs: null, outputs: null },
  INTERFACE_CALL: { inputs: null, outputs: null },
  FORK: { inputs: null, outputs: 1 },
  AWAITABLE: { inputs: null, outputs: 1 },
  WAIT: { inputs: 1, outputs: 1 },
  ENTER: { inputs: 1, outputs: 1 },
  EXIT: { inputs: 1, outputs: 1 },
  RAISE: { inputs: null, outputs: 0 },
  PRINT: { inputs: null, outputs: 0 },
  RETURN: { inputs: null, outputs: 0 },
};
