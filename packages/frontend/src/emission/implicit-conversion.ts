import {
  BoolType,
  ComplexType,
  DeviceObjType,
  FloatType,
  IntType,
  ListType,
  NoneType,
  NumberType,
  OptionalType,
  StringType,
  TensorType,
  TupleType,
  type Graph,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { insertOperator } from './operator-node.ts';

export function unwrapOptional(type: Type): Type {
  return type instanceof OptionalType ? type.elementType : type;
}

/** Whether a value of `type` can stand where `listType` is asked for: a subtype, or a tuple of fitting elements. */
export function convertibleToList(type: Type, listType: Type): boolean {
  if (!(listType instanceof ListType)) {
    return false;
  }
  return (
    type.isSubtypeOf(listType) ||
    (type instanceof TupleType && type.elements.every((element) => element.isSubtypeOf(listType.elementType)))
  );
}

/** The elements of a tuple; those of a tuple just constructed need no node (PyTorch: createTupleUnpack). */
export function tupleElements(graph: Graph, tuple: Value): readonly Value[] {
  if (tuple.node.kind === 'prim::TupleConstruct') {
    return [...tuple.node.inputs];
  }
  return graph.insertNode(graph.createTupleUnpack(tuple)).outputs;
}

const TENSOR_CONVERSIONS: ReadonlyMap<Type, string> = new Map<Type, string>([
  [FloatType.get(), 'aten::FloatImplicit'],
  [ComplexType.get(), 'aten::ComplexImplicit'],
  [IntType.get(), 'aten::IntImplicit'],
  [NumberType.get(), 'aten::ScalarImplicit'],
]);

const NUMBER_CONVERSIONS: ReadonlyMap<Type, string> = new Map<Type, string>([
  [FloatType.get(), 'aten::Float'],
  [ComplexType.get(), 'aten::Complex'],
  [IntType.get(), 'aten::Int'],
]);

const BOOL_CONVERSIONS: ReadonlyMap<Type, string> = new Map<Type, string>([
  [FloatType.get(), 'aten::Float'],
  [IntType.get(), 'aten::Int'],
  [NumberType.get(), 'aten::Int'],
]);

/**
 * Turns a value into one of `type` where TorchScript does so by itself, and gives it back as it is where not: the caller checks
 * the type of the result (PyTorch: tryConvertToType).
 *
 * Tuples become lists, an unassigned `[]` a list of any type; with `allowConversions` tensors and numbers become
 * numbers of other kinds, and strings devices.
 */
export function tryConvertToType(
  range: SourceRange | undefined,
  graph: Graph,
  type: Type,
  value: Value,
  allowConversions: boolean,
): Value {
  if (
    type instanceof OptionalType &&
    !(value.type instanceof OptionalType) &&
    !value.type.isSubtypeOf(NoneType.get())
  ) {
    return tryConvertToType(range, graph, type.elementType, value, allowConversions);
  }
  let converted = value;
  if (value.node.kind === 'prim::EmptyListLiteral' && type instanceof ListType) {
    converted = graph.insertNode(graph.createList(type.elementType, [])).output();
  }
  if (converted.type instanceof TupleType) {
    converted = convertTuple(range, graph, type, converted, allowConversions);
  }
  return allowConversions ? convertScalar(range, graph, type, converted) : converted;
}

function convertTuple(
  range: SourceRange | undefined,
  graph: Graph,
  type: Type,
  value: Value,
  allowConversions: boolean,
): Value {
  const tuple = value.type as TupleType;
  const target = unwrapOptional(type);
  if (target instanceof ListType && convertibleToList(tuple, target)) {
    return graph.insertNode(graph.createList(target.elementType, tupleElements(graph, value))).output();
  }
  if (type instanceof TupleType && !tuple.isSubtypeOf(type) && type.elements.length === tuple.elements.length) {
    const elements = tupleElements(graph, value).map((element, index) =>
      tryConvertToType(range, graph, type.elements[index]!, element, allowConversions),
    );
    return graph.insertNode(graph.createTuple(elements)).output();
  }
  return value;
}

function convertScalar(range: SourceRange | undefined, graph: Graph, type: Type, value: Value): Value {
  const conversions = value.type.isSubtypeOf(TensorType.get())
    ? TENSOR_CONVERSIONS
    : value.type === NumberType.get()
      ? NUMBER_CONVERSIONS
      : value.type === BoolType.get()
        ? BOOL_CONVERSIONS
        : undefined;
  const operator = conversions?.get(type);
  if (operator !== undefined) {
    return insertOperator(graph, operator, [value], range);
  }
  if (value.type.isSubtypeOf(StringType.get()) && type.isSubtypeOf(DeviceObjType.get())) {
    return insertOperator(graph, 'aten::device', [value], range);
  }
  return value;
}
