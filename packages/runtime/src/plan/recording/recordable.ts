import type { Node } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import type { FusionGroup } from '../../dispatch/fusion-group.ts';
import type { Instruction, InstructionOf, OpCode } from '../../interpreter/code/instruction.ts';

const changes = 'an instruction that changes more than registers';

/**
 * Why instructions end a stretch before they run; null for those of which a recording can hold what they came to, as far as can be told before: they follow
 * from what they are given and change nothing else.
 */
const refusals: Readonly<Record<OpCode, string | null>> = {
  OP: null,
  DIRECT: null,
  FUSION_GROUP: null,
  // One that fails has the run go on elsewhere.
  CALLBACK: 'a guard',
  MOVE: null,
  MOVE_PLAIN: null,
  DROP: null,
  JUMP: null,
  JUMP_IF_FALSE: null,
  LIST_CONSTRUCT: null,
  LIST_UNPACK: null,
  TUPLE_CONSTRUCT: null,
  TUPLE_UNPACK: null,
  TUPLE_INDEX: null,
  TUPLE_SLICE: null,
  GET_ATTR: null,
  ISINSTANCE: null,
  // A trip's number is no part of what its body is recorded for.
  LOOP_BEGIN: 'the beginning of a loop',
  LOOP: 'the head of a loop',
  DICT_CONSTRUCT: changes,
  CREATE_OBJECT: changes,
  SET_ATTR: null,
  TO_LIST: changes,
  SORT: changes,
  CALL: 'a call',
  INTERFACE_CALL: 'a call',
  FORK: changes,
  AWAITABLE: changes,
  WAIT: changes,
  ENTER: changes,
  EXIT: changes,
  RAISE: changes,
  PRINT: changes,
  RETURN: 'the end of the function',
};

/** Why an instruction ends a stretch before it has run; null where it does not. @param position its own index in the code */
export function refusalOf(instruction: Instruction, position: number): string | null {
  if (instruction.op === 'JUMP') return instruction.operand.target <= position ? 'the end of a trip of a loop' : null;
  return instruction.op === 'OP' || instruction.op === 'DIRECT'
    ? operatorRefusal(instruction)
    : refusals[instruction.op];
}

/** Whether an instruction puts a value at the end of a list, and does nothing else that anybody sees. */
export function isAppend(instruction: Instruction): boolean {
  if (instruction.op !== 'OP' || instruction.operand.name !== 'aten::append.t') return false;
  return instruction.outputs.every((register) => instruction.clears.includes(register));
}

function operatorRefusal(instruction: InstructionOf<'OP'> | InstructionOf<'DIRECT'>): string | null {
  const { operand, node } = instruction;
  const { row, keepsArguments } = operand;
  if (!row) return 'an operator that is not implemented';
  const { nondeterministic, hasSideEffects } = row.derived?.from ?? row;
  // Others ask the run's generator, where it shows whether they draw for these arguments.
  if ((nondeterministic || row.nondeterministic) && row.scalar)
    return 'an operator that gives something else each time';
  if (hasSideEffects || row.hasSideEffects) return 'an operator with effects of its own';
  if (row.remote) return 'a function of the page';
  // One that makes a list of views of a tensor keeps it in what is new.
  return keepsArguments && !changesTensorsOnly(node) && !isAppend(instruction) ? 'a container that changes' : null;
}

function changesTensorsOnly(node: Node): boolean {
  const operator = node.maybeOperator();
  if (!operator || operator.aliasAnalysis === 'conservative') return false;
  return operator.schema.arguments.every(({ isWrite, type }) => !isWrite || type.kind === 'TensorType');
}

/** Whether an input of a group goes to an operator of it that is not pointwise, and may go by its number. */
export const goesToAnchor = ({ graph }: FusionGroup, at: number): boolean =>
  graph.inputs[at].uses.some(({ user }) => !(user.maybeOperator()?.row as OperatorRow | undefined)?.pointwise);

/** In how many places operators take what a register holds. */
export function usesOf(instruction: Instruction, register: number): number {
  let uses = 0;
  instruction.inputs.forEach((input, at) => {
    if (input === register)
      uses += instruction.op === 'FUSION_GROUP' ? instruction.operand.graph.inputs[at].uses.length : 1;
  });
  return uses;
}

/** Whether an instruction does not go by what its registers hold. */
export const handsOn = (instruction: Instruction): boolean =>
  moves(instruction) || isAppend(instruction) || instruction.op === 'SET_ATTR';

/** Whether an instruction hands on what its registers hold. */
export const moves = ({ op }: Instruction): boolean => op === 'MOVE' || op === 'MOVE_PLAIN';
