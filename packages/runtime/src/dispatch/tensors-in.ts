import { isCustomClass } from '@cresset/ir';
import { List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';

/** The tensors among values, in lists and tuples among them, and in packed weights. */
export function tensorsIn(values: readonly IValue[]): Tensor[] {
  const tensors: Tensor[] = [];
  const visit = (value: IValue): void => {
    if (value instanceof Tensor) tensors.push(value);
    else if (value instanceof List || value instanceof Tuple) {
      for (const item of value.items) if (typeof item === 'object') visit(item);
    } else if (value instanceof ScriptObject && isCustomClass(value.type.qualifiedName)) value.slots.forEach(visit);
  };
  for (const value of values) visit(value);
  return tensors;
}
