import { FutureType, OptionalType, TupleType, UnionType, type Node, type Type } from '@cresset/ir';

/** Whether a value of this type can be changed in place, or hold something that can (PyTorch: isMutableType). */
export function isMutableType(type: Type): boolean {
  switch (type.kind) {
    case 'TensorType':
    case 'ListType':
    case 'DictType':
    case 'ClassType':
    case 'InterfaceType':
    case 'AnyType':
    case 'AnyListType':
    case 'AnyTupleType':
    case 'AnyClassType':
    case 'CapsuleType':
    case 'PyObjectType':
    case 'QuantizerType':
    case 'StorageType':
    case 'VarType':
    case 'AwaitType':
    case 'RRefType':
      return true;
    default:
      if (
        type instanceof TupleType ||
        type instanceof OptionalType ||
        type instanceof UnionType ||
        type instanceof FutureType
      ) {
        return type.containedTypes().some(isMutableType);
      }
      return false;
  }
}

/** Whether anything that a node reads or gives could be changed in place. */
export function involvesMutable({ inputs, outputs }: Node): boolean {
  return inputs.some(({ type }) => isMutableType(type)) || outputs.some(({ type }) => isMutableType(type));
}
