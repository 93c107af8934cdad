import { compileMobileCode, type MobileCode } from '@cresset/archive';
import {
  isComplexConstant,
  isDeviceConstant,
  isListConstant,
  isTensorConstant,
  isTupleConstant,
  parseIr,
} from '@cresset/ir';

/** A function as `bytecode.pkl` has it, as JSON. */
export interface BytecodeJson {
  readonly instructions: readonly (readonly [op: string, x: number, n: number])[];
  readonly operators: readonly (readonly [name: string, overloadName: string, argumentCount: number])[];
  readonly constants: readonly unknown[];
  readonly types: readonly string[];
  readonly register_size: number;
}

/** What differs from PyTorch's instructions for a graph, or null where nothing does. */
export function checkBytecode(ir: string, wanted: BytecodeJson): string | null {
  const got = toJson(compileMobileCode(parseIr(ir)));
  for (const part of ['instructions', 'operators', 'constants', 'types', 'register_size'] as const) {
    if (JSON.stringify(got[part]) !== JSON.stringify(wanted[part])) return `bytecode: other ${part.replace('_', ' ')}`;
  }
  return null;
}

function toJson({ instructions, operators, constants, types, registerSize }: MobileCode): BytecodeJson {
  return {
    instructions: instructions.map(({ op, x, n }) => [op, x, n]),
    operators: operators.map(({ name, overloadName, argumentCount }) => [name, overloadName, argumentCount]),
    constants: constants.map(constantToJson),
    types: types.map((type) => type.annotationStr()),
    register_size: registerSize,
  };
}

function constantToJson(constant: unknown): unknown {
  if (typeof constant === 'bigint') return Number(constant);
  if (isListConstant(constant) || isTupleConstant(constant)) return constant.items.map(constantToJson);
  if (isDeviceConstant(constant)) return constant.type;
  if (isComplexConstant(constant)) return [constant.re, constant.im];
  if (isTensorConstant(constant)) return '<Tensor>';
  return constant;
}
