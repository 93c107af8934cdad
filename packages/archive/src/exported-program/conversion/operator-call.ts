import {
  type Argument,
  BoolType,
  type Constant,
  CressetError,
  findOperator,
  type Operator,
  operatorsFor,
  type Value,
} from '@cresset/ir';
import type { GraphConverter } from './graph-converter.ts';
import { operatorOf, type SerializedArgument, type SerializedNode } from './serialized-node.ts';

/** An argument of the file, or a value that is there. */
export type CallArgument = SerializedArgument | { readonly name: string; readonly made: Value };

/** Converts a call of an operator; returns its results. Throws `EXPORT_OPERATOR` where there is no such operator. */
export function convertOperatorCall(converter: GraphConverter, node: SerializedNode): readonly Value[] {
  const named = operatorOf(node.target);
  if (!named) throw unknownOperator(node.target);
  return callOperator(converter, named.name, named.overload, node.inputs);
}

/** Calls an operator by its overload, with what is not given at its default. */
export function callOperator(
  converter: GraphConverter,
  name: string,
  overload: string,
  inputs: readonly CallArgument[],
): readonly Value[] {
  const operator = findOperator(name, overload) ?? substituteFor(name, inputs);
  if (!operator) throw unknownOperator(`${name.replace('::', '.')}${overload === '' ? '' : `.${overload}`}`);
  const values = operator.schema.arguments.map((formal, index) => argumentOf(converter, formal, index, inputs));
  const hasNumberForTensor = values.some(
    (value, index) => isNumber(value) && operator.schema.arguments[index].type.kind === 'TensorType',
  );
  if (!hasNumberForTensor) return insertCall(converter, operator, values);
  return callWithNumbers(converter, operator, values);
}

/** Where the very overload is not known: another one with all the arguments that are given. */
function substituteFor(name: string, inputs: readonly CallArgument[]): Operator | undefined {
  return operatorsFor(name).find(({ schema }) =>
    inputs.every((input) => input.name === '' || schema.argumentIndexWithName(input.name) !== undefined),
  );
}

function argumentOf(
  converter: GraphConverter,
  formal: Argument,
  index: number,
  inputs: readonly CallArgument[],
): Value {
  const given =
    inputs.find(({ name }) => name === formal.name) ?? (inputs[index]?.name === '' ? inputs[index] : undefined);
  if (given && 'made' in given) return given.made;
  if (given) return converter.arguments.value(given, formal.type, formal.N);
  if (formal.defaultValue !== undefined) return defaultOf(converter, formal, formal.defaultValue);
  throw new CressetError('EXPORT_MALFORMED', `the program is damaged: a call leaves out '${formal.name}'`);
}

function defaultOf({ graph, arguments: values }: GraphConverter, { type }: Argument, value: Constant): Value {
  const inner = type.kind === 'OptionalType' ? type.containedTypes()[0] : type;
  if (!Array.isArray(value)) return values.convert(graph.insertConstant(value), inner);
  const [element] = inner.containedTypes();
  const items = (value as readonly Constant[]).map((item) => values.convert(graph.insertConstant(item), element));
  return graph.insertNode(graph.createList(element, items)).output();
}

const NUMBERS: ReadonlySet<string> = new Set(['IntType', 'FloatType', 'ComplexType', 'BoolType', 'NumberType']);
const isNumber = ({ type }: Value): boolean => NUMBERS.has(type.kind);

/**
 * Python lets a number stand for a tensor. An overload that takes the number itself says what comes of it; where there is none, it becomes a tensor
 * without dimensions.
 */
function callWithNumbers(converter: GraphConverter, operator: Operator, values: readonly Value[]): readonly Value[] {
  const { arguments: formals } = operator.schema;
  const isTruthValue = values.some(
    ({ type }, index) => type === BoolType.get() && formals[index].type.kind === 'TensorType',
  );
  for (const other of isTruthValue ? [] : operatorsFor(operator.name)) {
    const positions = other.schema.arguments.map(({ name }) => formals.findIndex((formal) => formal.name === name));
    const isSame = other !== operator && positions.length === formals.length && positions.every((each) => each !== -1);
    if (!isSame) continue;
    const given = positions.map((position) => values[position]);
    if (given.every(({ type }, index) => type.isSubtypeOf(other.schema.arguments[index].type)))
      return insertCall(converter, other, given);
  }
  const tensors = values.map((value, index) =>
    isNumber(value) && formals[index].type.kind === 'TensorType' ? asTensor(converter, value) : value,
  );
  return insertCall(converter, operator, tensors);
}

const BOOL_CODE = 11n;

function asTensor({ graph, arguments: values }: GraphConverter, value: Value): Value {
  const isTruthValue = value.type === BoolType.get();
  const number = isTruthValue ? graph.insert('aten::Int', [value]) : value;
  const code = { IntType: 4n, BoolType: BOOL_CODE, ComplexType: 9n }[value.type.kind as string] ?? 6n;
  const dtype = graph.insertConstant(code);
  return graph.insert('aten::scalar_tensor', [values.convert(number, number.type)], { dtype });
}

function insertCall({ graph }: GraphConverter, operator: Operator, values: readonly Value[]): readonly Value[] {
  const { schema } = operator;
  const node = graph.create(schema.name, values, schema.returns.length);
  node.outputs.forEach((output, index) => output.setType(schema.returns[index].type));
  return graph.insertNode(node).setOperator(operator).outputs;
}

export function unknownOperator(target: string): CressetError {
  const name = target.replace(/^torch\.ops\./, '');
  return new CressetError(
    'EXPORT_OPERATOR',
    `the program calls '${name}', an operator that is not here. A custom operator is made known with registerOperator() before the program is loaded; others go when the program is exported again after run_decompositions()`,
  );
}
