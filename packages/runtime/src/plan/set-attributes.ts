import type { Code } from '../interpreter/code/code.ts';
import type { AttributeOrigin } from './recording/live-in.ts';

/** The names of attributes that instructions set, by their slots. */
const known = new WeakMap<Code, ReadonlySet<string>>();

/** Whether the code sets an attribute itself: it is a state then, and no parameter. */
export function isSetBy(code: Code, { object, slot }: AttributeOrigin): boolean {
  let set = known.get(code);
  if (!set) {
    const names = code.instructions.flatMap(({ op, operand }) =>
      op === 'SET_ATTR' ? `${operand.slot} ${operand.name}` : [],
    );
    known.set(code, (set = new Set(names)));
  }
  return set.has(`${slot} ${object.type.attributes[slot].name}`);
}
