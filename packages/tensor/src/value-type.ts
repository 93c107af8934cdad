import {
  AwaitType,
  Complex,
  ComplexType,
  DeviceObjType,
  DictType,
  FutureType,
  GeneratorType,
  ListType,
  NoneType,
  OptionalType,
  TensorType,
  TupleType,
  UnionType,
  typeOfPrimitive,
  type Type,
} from '@cresset/ir';
import { Await, Future } from './future.ts';
import { DeviceValue, Dict, EnumValue, List, ScriptObject, Tuple, type IValue } from './ivalue.ts';
import { Tensor } from './tensor.ts';

/** The type a value has at run time (IValue::type); null where it has none that a program could name. */
export function typeOfValue(value: IValue): Type | null {
  if (value === null) return NoneType.get();
  if (typeof value !== 'object') return typeOfPrimitive(value) ?? null;
  if (value instanceof Tensor) return TensorType.get();
  if (value instanceof List) return new ListType(value.elementType);
  if (value instanceof Dict) return new DictType(value.keyType, value.valueType);
  if (value instanceof Tuple) return value.type ?? tupleType(value);
  if (value instanceof ScriptObject || value instanceof EnumValue) return value.type;
  if (value instanceof Complex) return ComplexType.get();
  if (value instanceof DeviceValue) return DeviceObjType.get();
  if (value instanceof Future) {
    const result = value.isCompleted ? typeOfValue(value.value()) : null;
    return result && new (value instanceof Await ? AwaitType : FutureType)(result);
  }
  return 'kind' in value && value.kind === 'generator' ? GeneratorType.get() : null;
}

function tupleType(value: Tuple): Type | null {
  const elements = value.items.map(typeOfValue);
  return elements.includes(null) ? null : new TupleType(elements as Type[]);
}

/** What `isinstance(value, type)` answers at run time. */
export function isInstance(value: IValue, type: Type): boolean {
  const actual = typeOfValue(value);
  if (actual === null) return type.kind === 'AnyType';
  if (value instanceof Tuple && type instanceof TupleType && !type.named) {
    // Element by element: a list within may have an element type that its items alone do not tell.
    return (
      value.items.length === type.elements.length &&
      value.items.every((item, at) => isInstance(item, type.elements[at]))
    );
  }
  if (type instanceof OptionalType) return value === null || isInstance(value, type.elementType);
  if (type instanceof UnionType) return type.containedTypes().some((member) => isInstance(value, member));
  return actual.isSubtypeOf(type);
}
