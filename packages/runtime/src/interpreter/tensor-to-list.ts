import { CressetError, ListType, scalarTypeIrName, type Type } from '@cresset/ir';
import { readScalar } from '@cresset/operators';
import { isComplex, isFloatingPoint, List, type IValue, type ScalarType, type Tensor } from '@cresset/tensor';

/** `tensor.tolist()` to the annotated type (prim::tolist); the elements must be on the host. */
export function tensorToList(tensor: Tensor, type: Type): IValue {
  let element = type;
  let dim = 0;
  for (; element instanceof ListType; dim++) element = element.elementType;
  if (!holds(element, tensor.dtype)) {
    const types = `${annotatedName(element)} vs ${scalarTypeIrName(tensor.dtype)}`;
    throw new CressetError(
      'TOLIST_TYPE',
      `Output annotation element type and runtime tensor element type must match for tolist(): ${types}`,
    );
  }
  if (dim !== tensor.dim) {
    throw new CressetError(
      'TOLIST_TYPE',
      'Output annotation list dimension and runtime tensor dimension must match for tolist()',
    );
  }
  return nested(tensor, type, 0, tensor.storageOffset);
}

function nested(tensor: Tensor, type: Type, dim: number, offset: number): IValue {
  if (!(type instanceof ListType)) return readScalar(tensor, offset);
  const { elementType } = type;
  const items = Array.from({ length: tensor.sizes[dim] }, (_, index) =>
    nested(tensor, elementType, dim + 1, offset + index * tensor.strides[dim]),
  );
  return new List(elementType, items);
}

function holds(element: Type, dtype: ScalarType): boolean {
  switch (element.kind) {
    case 'IntType':
      return dtype === 'int64';
    case 'FloatType':
      return isFloatingPoint(dtype);
    case 'BoolType':
      return dtype === 'bool';
    default:
      return isComplex(dtype);
  }
}

/** PyTorch's word for the elements that a list is annotated with; it says Bool for complex too. */
function annotatedName({ kind }: Type): string {
  return kind === 'IntType' ? 'Long' : kind === 'FloatType' ? 'Float' : 'Bool';
}
