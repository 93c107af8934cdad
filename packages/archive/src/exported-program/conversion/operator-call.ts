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
  const { arguments: formals } = operator.schema;
  if (values.some((value, index) => isTruthValue(value) && isScalar(formals[index])))
    return callWithTruthValues(converter, operator, values);
  const hasNumberForTensor = values.some((value, index) => isNumber(value) && isTensor(formals[index]));
  return hasNumberForTensor ? callWithNumbers(converter, operator, values) : insertCall(converter, operator, values);
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

const isTruthValue = ({ type }: Value): boolean => type === BoolType.get();
const isTensor = ({ type }: Argument): boolean => type.kind === 'TensorType';
const isScalar = ({ type }: Argument): boolean =>
  (type.kind === 'OptionalType' ? type.containedTypes()[0] : type).kind === 'NumberType';

/** Overloads of a name with the same arguments, and where each of theirs is among those of an operator. */
function siblingsOf({ name, schema }: Operator): { readonly other: Operator; readonly positions: readonly number[] }[] {
  return operatorsFor(name).flatMap((other) => {
    const positions = other.schema.arguments.map((each) => schema.argumentIndexWithName(each.name) ?? -1);
    const isSame = positions.length === schema.arguments.length && positions.every((each) => each !== -1);
    return isSame && other.schema !== schema ? [{ other, positions }] : [];
  });
}

/**
 * Python lets a number stand for a tensor. An overload that takes the number itself says what comes of it; where there is none, it becomes a tensor
 * without dimensions.
 */
function callWithNumbers(converter: GraphConverter, operator: Operator, values: readonly Value[]): readonly Value[] {
  const { arguments: formals } = operator.schema;
  const hasTruthValue = values.some((value, index) => isTruthValue(value) && isTensor(formals[index]));
  for (const { other, positions } of hasTruthValue ? [] : siblingsOf(operator)) {
    const given = positions.map((position) => values[position]);
    if (given.every(({ type }, index) => type.isSubtypeOf(other.schema.arguments[index].type)))
      return insertCall(converter, other, given);
  }
  return insertCall(
    converter,
    operator,
    values.map((value, index) => (isNumber(value) && isTensor(formals[index]) ? asTensor(converter, value) : value)),
  );
}

/** A truth value is no Scalar of TorchScript: an overload takes it as a tensor of bool, and where there is none it is an int. */
function callWithTruthValues(
  converter: GraphConverter,
  operator: Operator,
  values: readonly Value[],
): readonly Value[] {
  const { graph } = converter;
  for (const { other, positions } of siblingsOf(operator)) {
    const { arguments: formals } = other.schema;
    const fits = positions.every((position, index) => {
      const value = values[position];
      return isTruthValue(value)
        ? isTensor(formals[index]) || formals[index].type === value.type
        : value.type.isSubtypeOf(formals[index].type);
    });
    if (!fits) continue;
    const given = positions.map((position, index) =>
      isTruthValue(values[position]) && isTensor(formals[index])
        ? asTensor(converter, values[position])
        : values[position],
    );
    return insertCall(converter, other, given);
  }
  const { schema } = operator;
  const given = values.map((value, index) =>
    isTruthValue(value) && isScalar(schema.arguments[index]) ? graph.insert('aten::Int', [value]) : value,
  );
  // What is filled with it is of bool.
  const dtype = schema.argumentIndexWithName('dtype');
  if (operator.name === 'aten::full' && dtype !== undefined && given[dtype].type.kind === 'NoneType')
    given[dtype] = graph.insertConstant(BOOL_CODE);
  return insertCall(converter, operator, given);
}

const BOOL_CODE = 11n;

function asTensor({ graph, arguments: values }: GraphConverter, value: Value): Value {
  const number = isTruthValue(value) ? graph.insert('aten::Int', [value]) : value;
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
