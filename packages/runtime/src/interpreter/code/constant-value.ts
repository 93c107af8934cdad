import {
  constantValue as plainConstantValue,
  CressetError,
  FunctionType,
  isComplexConstant,
  isDeviceConstant,
  isDictConstant,
  isEnumConstant,
  isListConstant,
  isTupleConstant,
  type ConstantFactory,
  type Node,
} from '@cresset/ir';
import {
  Complex,
  DeviceValue,
  Dict,
  EnumValue,
  FunctionValue,
  List,
  ScriptObject,
  Tensor,
  Tuple,
  type DictKey,
  type IValue,
} from '@cresset/tensor';

/** Makes the constants of graph text as values of a running program. */
export const runtimeConstants: ConstantFactory = {
  list: (elementType, items) => new List(elementType, items.map(toIValue)),
  dict: (keyType, valueType, entries) =>
    new Dict(keyType, valueType, new Map(entries.map(([key, value]) => [toIValue(key) as DictKey, toIValue(value)]))),
  tuple: (items, type) => new Tuple(items.map(toIValue), type),
  device: (text) => DeviceValue.parse(text),
  complex: (re, im) => new Complex(re, im),
  enumMember: (type, name, value) => new EnumValue(type, name, toIValue(value)),
};

/** The value of a `prim::Constant`. Throws `RUNTIME_CONSTANT` for one that only stands for something in the text. */
export function constantValue(node: Node): IValue {
  const { type } = node.output();
  if (type instanceof FunctionType) return new FunctionValue(type.function.qualifiedName, type.function);
  return toIValue(plainConstantValue(node.output(), runtimeConstants));
}

/** A constant of a graph as a value of a running program; those that are already stay the same object. */
export function toIValue(constant: unknown): IValue {
  switch (typeof constant) {
    case 'boolean':
    case 'bigint':
    case 'number':
    case 'string':
      return constant;
    default:
      break;
  }
  if (constant === null || isRuntimeObject(constant)) return constant as IValue;
  if (isListConstant(constant)) return runtimeConstants.list(constant.elementType, [...constant.items]) as List;
  if (isDictConstant(constant)) {
    return runtimeConstants.dict(constant.keyType, constant.valueType, [...constant.entries]) as Dict;
  }
  if (isTupleConstant(constant)) return runtimeConstants.tuple([...constant.items], constant.type) as Tuple;
  if (isEnumConstant(constant))
    return runtimeConstants.enumMember(constant.type, constant.name, constant.value) as EnumValue;
  if (isDeviceConstant(constant)) {
    return DeviceValue.parse(constant.index === null ? constant.type : `${constant.type}:${constant.index}`);
  }
  if (isComplexConstant(constant)) return new Complex(constant.re, constant.im);
  throw new CressetError('RUNTIME_CONSTANT', 'this constant is known by its text only: its value is not there');
}

function isRuntimeObject(constant: unknown): boolean {
  return [Tensor, List, Dict, Tuple, ScriptObject, EnumValue, DeviceValue, FunctionValue, Complex].some(
    (type) => constant instanceof type,
  );
}
