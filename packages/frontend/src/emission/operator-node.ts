import {
  CressetError,
  operatorsFor,
  nodeMatchesSchema,
  type Graph,
  type SourceRange,
  type Symbol,
  type Value,
} from '@cresset/ir';

/**
 * Inserts a node of an operator whose inputs have exactly the types of one of its overloads, and returns its output. For nodes
 * that the compiler itself adds; what the user writes goes through schema matching. Throws `ir/operator` where none fits.
 */
export function insertOperator(
  graph: Graph,
  kind: Symbol,
  inputs: readonly Value[],
  range: SourceRange | undefined,
): Value {
  const node = graph.insertNode(graph.create(kind, inputs, 1));
  node.sourceRange = range ?? node.sourceRange;
  const operator = operatorsFor(kind).find((candidate) => nodeMatchesSchema(node, candidate.schema));
  if (operator === undefined) {
    node.destroy();
    const types = inputs.map((input) => input.type.reprStr()).join(', ');
    throw new CressetError('IR_OPERATOR', `no overload of ${kind} takes (${types})`);
  }
  const output = node.output().setType(operator.schema.returns[0]!.type);
  node.setOperator(operator);
  return output;
}
