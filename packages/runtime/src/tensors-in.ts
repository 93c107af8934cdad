import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';

/** The tensors among values, and in lists and tuples among them. */
export function tensorsIn(values: readonly IValue[]): Tensor[] {
  const tensors: Tensor[] = [];
  const visit = (value: IValue): void => {
    if (value instanceof Tensor) tensors.push(value);
    else if (value instanceof List || value instanceof Tuple) {
      for (const item of value.items) if (typeof item === 'object') visit(item);
    }
  };
  for (const value of values) visit(value);
  return tensors;
}
