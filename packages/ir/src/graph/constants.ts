import type { TensorAttribute } from './attributes.ts';
import {
  type ConstantFactory,
  deviceText,
  isComplexConstant,
  isDeviceConstant,
  isDictConstant,
  isEnumConstant,
  isListConstant,
  isObjectConstant,
  isTensorConstant,
  isTupleConstant,
  plainConstants,
  typeOfConstant,
  typeOfTensor,
} from './constant-value.ts';
import { ListType } from '../types/container-types.ts';
import { CressetError } from '../error.ts';
import type { Graph } from './graph.ts';
import type { Node } from './node.ts';
import {
  BoolType,
  ComplexType,
  DeviceObjType,
  FloatType,
  IntType,
  NoneType,
  StringType,
} from '../types/primitive-types.ts';
import type { Scope } from './scope.ts';
import type { SourceRange } from '../text/source-range.ts';
import type { Value } from './value.ts';

/** Inserts a `prim::Constant` at the insert point; throws `IR_INVARIANT` for a value that no graph can hold. */
export function insertConstant(graph: Graph, value: unknown, range?: SourceRange, scope?: Scope): Value {
  const constant = tryInsertConstant(graph, value, range, scope);
  if (constant === undefined) {
    throw new CressetError(
      'IR_INVARIANT',
      `Unsupported value kind: ${typeOfConstant(value)?.reprStr() ?? typeof value}`,
    );
  }
  return constant;
}

/** As {@link insertConstant}, but gives undefined for a value that no graph can hold (PyTorch name). */
export function tryInsertConstant(graph: Graph, value: unknown, range?: SourceRange, scope?: Scope): Value | undefined {
  const node = graph.create('prim::Constant');
  if (!setConstant(node, value)) {
    node.destroy();
    return undefined;
  }
  graph.insertNode(node);
  node.sourceRange = range ?? node.sourceRange;
  node.scope = scope ?? node.scope;
  return node.output();
}

function setConstant(node: Node, value: unknown): boolean {
  const output = node.output();
  if (value === null) {
    output.setType(NoneType.get());
  } else if (typeof value === 'boolean') {
    node.setI('value', value ? 1n : 0n);
    output.setType(BoolType.get());
  } else if (typeof value === 'bigint') {
    node.setI('value', value);
    output.setType(IntType.get());
  } else if (typeof value === 'number') {
    node.setF('value', value);
    output.setType(FloatType.get());
  } else if (typeof value === 'string') {
    node.setS('value', value);
    output.setType(StringType.get());
  } else if (isTensorConstant(value)) {
    return setTensorConstant(node, value);
  } else if (isDeviceConstant(value)) {
    node.setS('value', deviceText(value));
    output.setType(DeviceObjType.get());
  } else if (isComplexConstant(value)) {
    node.setC('value', value);
    output.setType(ComplexType.get());
  } else if (canHold(value)) {
    node.setIval('value', value);
    const type = typeOfConstant(value);
    if (type === undefined) {
      return false;
    }
    output.setType(type);
  } else {
    return false;
  }
  return true;
}

function setTensorConstant(node: Node, tensor: TensorAttribute & { readonly requiresGrad?: boolean }): boolean {
  // A constant that needs a gradient would lose it.
  if (tensor.requiresGrad === true) {
    return false;
  }
  node.setT('value', tensor);
  node.output().setType(typeOfTensor(tensor));
  return true;
}

/** Whether a value may stand in an ival attribute: literals, and containers and enum members of such (insertableIValue). */
function canHold(value: unknown): boolean {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return true;
  }
  if (isListConstant(value) || isTupleConstant(value)) {
    return value.items.every(canHold);
  }
  if (isDictConstant(value)) {
    return [...value.entries].every(([key, item]) => canHold(key) && canHold(item));
  }
  if (isEnumConstant(value)) {
    return true;
  }
  if (isObjectConstant(value)) {
    return !value.type.isModule();
  }
  return isDeviceConstant(value) || isComplexConstant(value) || isTensorConstant(value);
}

/** Whether a value is a constant, and if so which (PyTorch: toIValue): undefined where it is none. */
export function constantValue(value: Value, factory: ConstantFactory = plainConstants): unknown {
  const { node, type } = value;
  if (node.kind !== 'prim::Constant' || type.kind === 'FunctionType') {
    return undefined;
  }
  if (!node.hasAttribute('value')) {
    return null;
  }
  const attribute = node.attribute('value');
  switch (attribute.kind) {
    case 'i':
      return type.kind === 'BoolType' ? attribute.value !== 0n : attribute.value;
    case 's':
      return type.kind === 'DeviceObjType' ? factory.device(attribute.value) : attribute.value;
    case 'c':
      return factory.complex(attribute.value.re, attribute.value.im);
    case 'is': {
      const isBools = type instanceof ListType && type.elementType.kind === 'BoolType';
      const items: unknown[] = isBools ? attribute.value.map((item) => item !== 0n) : [...attribute.value];
      return factory.list(isBools ? BoolType.get() : IntType.get(), items);
    }
    case 'fs':
    case 'ss':
    case 'cs':
    case 'ts':
      return factory.list((type as ListType).elementType, [...attribute.value]);
    default:
      return attribute.value;
  }
}
