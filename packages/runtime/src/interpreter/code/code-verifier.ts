import { CressetError } from '@cresset/ir';
import type { Code } from './code.ts';
import { instructionShapes } from './instruction.ts';

/**
 * Checks that code cannot go wrong by itself: operand counts, registers and constants within bounds, jumps to instructions,
 * and an end that is a RETURN or RAISE or a jump. Throws `RUNTIME_CODE`.
 */
export function verifyCode(code: Code): void {
  const { instructions, registerCount, constants } = code;
  const fail = (at: number, message: string): never => {
    throw new CressetError('RUNTIME_CODE', `instruction ${at} of ${code.name} (${instructions[at]?.op}): ${message}`);
  };
  instructions.forEach((instruction, at) => {
    const shape = instructionShapes[instruction.op];
    if (shape.inputs !== null && shape.inputs !== instruction.inputs.length) fail(at, `takes ${shape.inputs} inputs`);
    if (shape.outputs !== null && shape.outputs !== instruction.outputs.length)
      fail(at, `has ${shape.outputs} outputs`);
    if (instruction.op.startsWith('MOVE') && instruction.inputs.length !== instruction.outputs.length)
      fail(at, 'uneven move');
    for (const input of instruction.inputs) {
      if (input >= registerCount || ~input >= constants.length) fail(at, `there is no input ${input}`);
    }
    for (const register of [...instruction.outputs, ...instruction.clears]) {
      if (register < 0 || register >= registerCount) fail(at, `there is no register ${register}`);
    }
    if (instruction.op === 'JUMP' || instruction.op === 'JUMP_IF_FALSE' || instruction.op === 'LOOP') {
      const { target } = instruction.operand;
      if (!(target >= 0 && target < instructions.length)) fail(at, `there is no instruction ${target}`);
    }
  });
  const last = instructions.at(-1)?.op;
  if (last !== 'RETURN' && last !== 'RAISE' && last !== 'JUMP') fail(instructions.length - 1, 'the code has no end');
}
