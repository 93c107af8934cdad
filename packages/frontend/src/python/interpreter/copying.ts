import { Dict, List, Tensor, Tuple } from '@cresset/tensor';
import type { PythonValue } from '../python-value.ts';
import { dictOf, entriesOf, itemsIn, listOf, tupleOf } from './containers.ts';
import { PythonObject, PythonSet } from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import { isParameter, makeParameter } from './module-objects.ts';

/** `copy.copy(value)`, or `copy.deepcopy(value)`: what is held twice is held twice by the copy too. */
export function copyOf(python: Interpreter, value: PythonValue, isDeep: boolean): PythonValue {
  const copies = new Map<PythonValue, PythonValue>();
  const inner = (each: PythonValue): PythonValue => (isDeep ? copy(each) : each);
  const copy = (each: PythonValue): PythonValue => {
    const known = copies.get(each);
    if (known !== undefined) return known;
    const made = make(each);
    copies.set(each, made);
    return made;
  };
  const make = (each: PythonValue): PythonValue => {
    if (each instanceof Tensor) {
      const cloned = python.call(python.getAttribute(each, 'clone'), []) as Tensor;
      return isParameter(each) ? makeParameter(cloned, each.requiresGrad) : cloned;
    }
    if (each instanceof List) return listOf(itemsIn(each).map(inner));
    if (each instanceof Tuple) {
      const items = tupleOf(itemsIn(each).map(inner));
      return each.type === null ? items : new Tuple(items.items, each.type);
    }
    if (each instanceof Dict) return dictOf(entriesOf(each).map(([key, item]) => [key, inner(item)] as const));
    if (each instanceof PythonSet) return new PythonSet(each.items.map(inner));
    if (!(each instanceof PythonObject)) return each;
    const object = new PythonObject(each.type);
    copies.set(each, object);
    for (const [name, item] of each.attributes) object.attributes.set(name, inner(item));
    return object;
  };
  return copy(value);
}
