import { isComplex, isFloatingPoint, List, Tensor, Tuple, type IValue } from '@cresset/tensor';

/** A value with other tensors in it. */
export function withReplaced(value: IValue, replace: (tensor: Tensor) => Tensor): IValue {
  if (value instanceof Tensor) return replace(value);
  if (value instanceof List)
    return new List(
      value.elementType,
      value.items.map((item) => withReplaced(item, replace)),
    );
  if (value instanceof Tuple)
    return new Tuple(
      value.items.map((item) => withReplaced(item, replace)),
      value.type,
    );
  return value;
}

/** Tensors in a result, as they stand there. */
export function tensorsIn(value: IValue): Tensor[] {
  if (value instanceof Tensor) return [value];
  return value instanceof List || value instanceof Tuple ? value.items.flatMap(tensorsIn) : [];
}

/** Tensors of floats in a result. */
export const floatsIn = (value: IValue): Tensor[] =>
  tensorsIn(value).filter(({ dtype }) => isFloatingPoint(dtype) || isComplex(dtype));
