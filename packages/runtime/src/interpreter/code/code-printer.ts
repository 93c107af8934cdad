import type { Code } from './code.ts';
import type { Instruction } from './instruction.ts';

/** A function's instructions as text, one a line: `4  OP aten::add.Tensor r0, r2!, c1 -> r3`; `!` marks a last use. */
export function printCode(code: Code): string {
  const header = `code ${code.name}: ${code.parameterCount} parameters, ${code.registerCount} registers, ${code.constants.length} constants`;
  const lines = code.instructions.map(
    (instruction, at) => `${String(at).padStart(3)}  ${printInstruction(instruction)}`,
  );
  return `${[header, ...lines].join('\n')}\n`;
}

function printInstruction(instruction: Instruction): string {
  const { inputs, outputs, clears } = instruction;
  const input = (register: number): string => {
    if (register < 0) return `c${~register}`;
    return clears.includes(register) ? `r${register}!` : `r${register}`;
  };
  const operand = printOperand(instruction);
  // What is given up here without being read here: values last used inside a block, or never.
  const dropped = clears.filter((register) => !inputs.includes(register));
  return [
    instruction.op,
    operand,
    inputs.map(input).join(', '),
    outputs.length > 0 ? `-> ${outputs.map((register) => `r${register}`).join(', ')}` : '',
    dropped.length > 0 ? `drop ${dropped.map((register) => `r${register}`).join(', ')}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function printOperand(instruction: Instruction): string {
  switch (instruction.op) {
    case 'OP':
    case 'DIRECT':
    case 'CALL':
    case 'FORK':
    case 'AWAITABLE':
    case 'GET_ATTR':
    case 'SET_ATTR':
      return instruction.operand.name;
    case 'CALLBACK':
      return instruction.node.kind;
    case 'FUSION_GROUP':
      return instruction.operand.label;
    case 'JUMP':
    case 'JUMP_IF_FALSE':
    case 'LOOP':
      return `@${instruction.operand.target}`;
    case 'LIST_CONSTRUCT':
    case 'CREATE_OBJECT':
    case 'TO_LIST':
      return instruction.operand.str();
    case 'INTERFACE_CALL':
      return instruction.operand;
    case 'ISINSTANCE':
      return `[${instruction.operand.map((type) => type.str()).join(', ')}]`;
    case 'TUPLE_SLICE':
      return `[${instruction.operand.begin}:${instruction.operand.end}]`;
    default:
      return '';
  }
}
