import { remembered } from '@cresset/tensorexpr';
import type { Code } from '../interpreter/code/code.ts';
import type { AttributeOrigin } from './recording/live-in.ts';

/** The names of attributes that instructions set, by their slots. */
const setIn = remembered(
  ({ instructions }: Code) =>
    new Set(instructions.flatMap(({ op, operand }) => (op === 'SET_ATTR' ? `${operand.slot} ${operand.name}` : []))),
);

/** Whether the code sets an attribute itself: it is a state then, and no parameter. */
export function isSetBy(code: Code, { object, slot }: AttributeOrigin): boolean {
  return setIn(code).has(`${slot} ${object.type.attributes[slot].name}`);
}
