import { typeOfConstant } from './constant-value.ts';
import { CressetError } from '../error.ts';
import type { Argument, FunctionSchema } from '../schema/function-schema.ts';
import type { Graph } from './graph.ts';
import { type Operator, operatorsFor } from '../schema/operator-registry.ts';
import type { SourceRange } from '../text/source-range.ts';
import type { Symbol } from './symbol.ts';
import { evalTypeVariables, matchTypeVariables, type TypeEnv } from '../types/type-variables.ts';
import type { Type } from '../types/type.ts';
import { Value } from './value.ts';

/** An argument of {@link insertOperator}: a value, or a constant (an int is a bigint, a number is a float). */
export type OperatorArgument = Value | null | boolean | bigint | number | string | object;

interface Match {
  readonly operator: Operator;
  readonly inputs: readonly OperatorArgument[];
  readonly env: TypeEnv;
}

/**
 * Inserts a call of an operator, with constants made into nodes and defaults filled in, and returns its outputs (PyTorch:
 * Graph::insert). The first overload that takes the arguments as they are is used; nothing is converted. Throws
 * `IR_OPERATOR` where none does.
 */
export function insertOperator(
  graph: Graph,
  name: Symbol,
  args: readonly OperatorArgument[],
  kwargs: Readonly<Record<string, OperatorArgument>> = {},
  range?: SourceRange,
): readonly Value[] {
  const reasons: string[] = [];
  for (const operator of operatorsFor(name)) {
    const match = matchOperator(operator, args, kwargs, reasons);
    if (match !== undefined) {
      return insertMatch(graph, match, range);
    }
  }
  throw new CressetError(
    'IR_OPERATOR',
    reasons.length === 0 ? `Unknown operator ${name}` : `Arguments for call are not valid.\n${reasons.join('\n')}`,
  );
}

function matchOperator(
  operator: Operator,
  args: readonly OperatorArgument[],
  kwargs: Readonly<Record<string, OperatorArgument>>,
  reasons: string[],
): Match | undefined {
  const { schema } = operator;
  const env: TypeEnv = new Map();
  const inputs: OperatorArgument[] = [];
  const unused = new Set(Object.keys(kwargs));
  for (const [index, formal] of schema.arguments.entries()) {
    const actual = actualFor(formal, index, args, kwargs);
    unused.delete(formal.name);
    const reason = actual === undefined ? `Argument ${formal.name} not provided.` : mismatch(formal, actual, env);
    if (reason !== undefined) {
      reasons.push(`${schema}: ${reason}`);
      return undefined;
    }
    inputs.push(actual!);
  }
  const tooMany = args.length > schema.arguments.length && !schema.isVararg;
  if (tooMany || unused.size > 0) {
    reasons.push(
      `${schema}: ${tooMany ? `Expected at most ${schema.arguments.length} arguments but found ${args.length}` : `Unknown keyword argument '${[...unused][0]}'`}.`,
    );
    return undefined;
  }
  return { operator, inputs: [...inputs, ...args.slice(schema.arguments.length)], env };
}

function actualFor(
  formal: Argument,
  index: number,
  args: readonly OperatorArgument[],
  kwargs: Readonly<Record<string, OperatorArgument>>,
): OperatorArgument | undefined {
  if (!formal.kwargOnly && index < args.length) {
    return args[index];
  }
  return Object.hasOwn(kwargs, formal.name) ? kwargs[formal.name] : formal.defaultValue;
}

function mismatch(formal: Argument, actual: OperatorArgument, env: TypeEnv): string | undefined {
  // A default is what its schema says, whatever its own type: an int list default is plain numbers.
  if (actual === formal.defaultValue) {
    return undefined;
  }
  const type = actual instanceof Value ? actual.type : typeOfConstant(actual);
  if (type === undefined) {
    return `Argument ${formal.name} is no value that a graph can hold.`;
  }
  const failure = matchTypeVariables(formal.type, type, env);
  if (failure !== undefined) {
    return failure;
  }
  const wanted = evalTypeVariables(formal.type, env) ?? formal.type;
  return type.isSubtypeOf(wanted)
    ? undefined
    : `Expected a value of type '${wanted.reprStr()}' for argument '${formal.name}' but instead found type '${type.reprStr()}'.`;
}

function insertMatch(graph: Graph, { operator, inputs, env }: Match, range: SourceRange | undefined): readonly Value[] {
  const { schema } = operator;
  const values = inputs.map((input, index) => toValue(graph, input, schema.arguments[index]?.type, range));
  const node = graph.create(schema.name, values, schema.returns.length);
  node.outputs.forEach((output, index) => output.setType(returnType(schema, index, env)));
  node.sourceRange = range ?? node.sourceRange;
  return graph.insertNode(node).setOperator(operator).outputs;
}

function returnType(schema: FunctionSchema, index: number, env: TypeEnv): Type {
  const { type } = schema.returns[index];
  return evalTypeVariables(type, env) ?? type;
}

function toValue(graph: Graph, argument: OperatorArgument, type: Type | undefined, range?: SourceRange): Value {
  if (argument instanceof Value) {
    return argument;
  }
  if (Array.isArray(argument)) {
    const items = argument.map((item: OperatorArgument) => toValue(graph, item, undefined, range));
    const elementType = type?.containedTypes()[0];
    const list = type?.kind === 'OptionalType' ? elementType?.containedTypes()[0] : elementType;
    return graph.insertNode(graph.createList(list ?? items[0].type, items)).output();
  }
  return graph.insertConstant(argument, range);
}
