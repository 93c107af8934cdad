import { CressetError, ListType, scalarTypeIrName, type Type } from '@cresset/ir';
import { readScalar, type Pieces } from '@cresset/operators';
import { isComplex, isFloatingPoint, List, type IValue, type ScalarType, type Tensor } from '@cresset/tensor';

/** Numbers that are read between two stops. */
const NUMBERS_AT_ONCE = 1 << 14;

/** `tensor.tolist()` to the annotated type (prim::tolist); the elements must be on the host. */
export function tensorToList(tensor: Tensor, type: Type): Pieces<IValue> {
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
  return inPieces(tensor, type);
}

function* inPieces(tensor: Tensor, type: Type): Pieces<IValue> {
  let done = 0;
  function* nested(inner: Type, dim: number, offset: number): Pieces<IValue> {
    if (!(inner instanceof ListType)) return readScalar(tensor, offset);
    const { elementType } = inner;
    const isInnermost = !(elementType instanceof ListType);
    const items: IValue[] = [];
    for (let index = 0; index < tensor.sizes[dim]; index++) {
      const at = offset + index * tensor.strides[dim];
      items.push(isInnermost ? readScalar(tensor, at) : yield* nested(elementType, dim + 1, at));
      if (++done % NUMBERS_AT_ONCE === 0) yield;
    }
    return new List(elementType, items);
  }
  return yield* nested(type, 0, tensor.storageOffset);
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
