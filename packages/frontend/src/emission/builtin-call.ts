import {
  insertGraph,
  operatorRegistry,
  operatorsFor,
  TupleType,
  unqualifiedName,
  type Graph,
  type Operator,
  type SourceRange,
  type Symbol,
  type Value,
} from '@cresset/ir';
import { builtinFunctionTable } from '../builtin-function-table.ts';
import { compileError } from '../compilation-error.ts';
import { matchSchemas, type MatchedSchema } from './schema-matching.ts';
import type { NamedValue } from '../values/named-value.ts';
import { findUpgrader, type Upgrader } from '../upgrading/upgraders.ts';

/**
 * Emits a call of a builtin operator: the first overload that fits, in the order of registration (PyTorch: emitBuiltinCall).
 *
 * Several results come as one tuple. Throws an ErrorReport where there is no such operator or no overload fits.
 */
export function emitBuiltinCall(
  range: SourceRange,
  graph: Graph,
  name: Symbol,
  args: readonly NamedValue[],
  kwargs: readonly NamedValue[] = [],
  self?: NamedValue,
): Value {
  const operators = operatorsFor(name);
  const functions = builtinFunctionTable.functionsFor(name);
  if (operators.length + functions.length === 0) {
    throw compileError(range, unknownOperatorMessage(name));
  }
  const upgraders: Upgrader[] = [];
  const current = operators.filter(({ overloadName }) => {
    const upgrader = findUpgrader(overloadName === '' ? name : `${name}.${overloadName}`, graph.opVersion);
    if (upgrader !== undefined) upgraders.push(upgrader);
    return upgrader === undefined;
  });
  const schemas = [
    ...current.map((operator) => operator.schema),
    ...upgraders.map((upgrader) => upgrader.oldSchema),
    ...functions.map((fn) => fn.schema),
  ];
  const [index, matched] = matchSchemas(schemas, { range, graph, args, kwargs, self });
  if (index < operators.length) {
    return emitBuiltinNode(matched, range, graph, name, current[index]);
  }
  return insertGraph(graph, functions[index - operators.length]!.graph, matched.inputs)[0]!;
}

function emitBuiltinNode(
  matched: MatchedSchema,
  range: SourceRange,
  graph: Graph,
  name: Symbol,
  operator: Operator | undefined,
): Value {
  const node = graph.insertNode(graph.create(name, matched.inputs, 0).setSourceRange(range));
  for (const type of matched.returnTypes) {
    node.addOutput().setType(type);
  }
  // An operator that meant something else when the program was written is replaced once the function is complete.
  if (operator === undefined) node.historicSchemaName = matched.schema.operatorName;
  else node.setOperator(operator);
  return packOutputs(graph, node.outputs, matched.returnFieldNames);
}

/** One result is itself, several are a tuple, named where the schema names its results. */
function packOutputs(graph: Graph, values: readonly Value[], fieldNames: readonly string[] | undefined): Value {
  if (values.length === 1) {
    return values[0]!;
  }
  const types = values.map((value) => value.type);
  const named = fieldNames === undefined ? undefined : TupleType.createNamed(undefined, fieldNames, types);
  return graph.insertNode(graph.createTuple(values, named)).output();
}

function unknownOperatorMessage(name: Symbol): string {
  const similar = similarOperators(name);
  const note = operatorRegistry.noteOn(name);
  return similar.length === 0
    ? `Unknown builtin op: ${name}.${note}\nCould not find any similar ops to ${name}. ` +
        'This op may not exist or may not be currently supported in TorchScript.\n'
    : `Unknown builtin op: ${name}.${note}\nHere are some suggestions: \n` +
        `${similar.map((symbol) => `\t${symbol}\n`).join('')}\nThe original call is`;
}

const MAX_EDIT_DISTANCE = 2;

/** Operators whose names differ from `name` by at most two edits, nearest first (PyTorch: findSimilarOperators). */
function similarOperators(name: Symbol): readonly Symbol[] {
  const wanted = unqualifiedName(name);
  return [...operatorRegistry.names()]
    .map((symbol) => [symbol, editDistance(wanted, unqualifiedName(symbol))] as const)
    .filter(([, distance]) => distance <= MAX_EDIT_DISTANCE)
    .sort((left, right) => left[1] - right[1])
    .map(([symbol]) => symbol);
}

/** Levenshtein's distance; anything past the maximum is as good as infinite. */
function editDistance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > MAX_EDIT_DISTANCE) {
    return Infinity;
  }
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const substitution = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, substitution));
    }
    row = next;
  }
  return row.at(-1)!;
}
