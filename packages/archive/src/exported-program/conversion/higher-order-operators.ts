import { CressetError, type Value } from '@cresset/ir';
import { JsonObject } from '../json-object.ts';
import { convertAutocast } from './autocast-regions.ts';
import { convertAutoFunctionalized } from './functionalized-calls.ts';
import type { GraphConverter } from './graph-converter.ts';
import { callOperator, unknownOperator } from './operator-call.ts';
import { convertCond, convertMap, convertScan, convertWhileLoop } from './control-flow.ts';
import { operatorOf, type SerializedArgument, type SerializedNode } from './serialized-node.ts';

/** Converts a call of an operator that is given graphs; its results in their order. */
type Conversion = (converter: GraphConverter, node: SerializedNode) => readonly Value[];

const CONVERSIONS: ReadonlyMap<string, Conversion> = new Map<string, Conversion>([
  ['cond', convertCond],
  ['while_loop', (converter, node) => convertWhileLoop(converter, node, false)],
  ['while_loop_stack_output', (converter, node) => convertWhileLoop(converter, node, true)],
  ['map_impl', convertMap],
  ['map', convertMap],
  ['scan', convertScan],
  // Graphs that are called as they are: what PyTorch does around them changes no result.
  ['strict_mode', (converter, { inputs: [graph, args] }) => converter.inline(graph, converter.operands(args))],
  ['hints_wrapper', (converter, { inputs: [graph, args] }) => converter.inline(graph, converter.operands(args))],
  ['invoke_subgraph', (converter, { inputs: [graph, , ...operands] }) => call(converter, graph, operands)],
  ...['wrap', 'tag_activation_checkpoint', 'wrap_activation_checkpoint', 'invoke_quant', 'invoke_quant_packed'].map(
    (name): [string, Conversion] => [
      name,
      (converter, { inputs: [graph, ...operands] }) =>
        call(
          converter,
          graph,
          operands.filter(({ isKeyword }) => !isKeyword),
        ),
    ],
  ),
  ['wrap_with_set_grad_enabled', withGradients],
  ['wrap_with_autocast', convertAutocast],
  ['auto_functionalized', (converter, node) => convertAutoFunctionalized(converter, node, false)],
  ['auto_functionalized_v2', (converter, node) => convertAutoFunctionalized(converter, node, true)],
  ['with_effects', withEffects],
  ['out_dtype', outDtype],
]);

const PREFIX = 'torch.ops.higher_order.';

/** Converts a call of an operator that is given graphs; false where it is none. */
export function convertHigherOrder(converter: GraphConverter, node: SerializedNode): boolean {
  if (!node.target.startsWith(PREFIX)) return false;
  const conversion = CONVERSIONS.get(node.target.slice(PREFIX.length));
  if (!conversion) throw unknownOperator(node.target);
  converter.defineOutputs(node, conversion(converter, node));
  return true;
}

function call(converter: GraphConverter, graph: SerializedArgument, operands: readonly SerializedArgument[]): Value[] {
  return converter.inline(
    graph,
    operands.map((operand) => converter.arguments.value(operand, null)),
  );
}

/** What is computed without gradients has none, whatever it is computed of. */
function withGradients(converter: GraphConverter, { inputs: [enabled, graph, ...operands] }: SerializedNode): Value[] {
  const results = call(converter, graph, operands);
  if (enabled.value !== false) return results;
  return results.map((value) =>
    value.type.kind === 'TensorType' ? converter.graph.insert('aten::detach', [value]) : value,
  );
}

/** A call whose place among others counts, which is kept by a token: nodes of our graphs keep theirs. */
function withEffects(converter: GraphConverter, { inputs: [token, operator, ...args] }: SerializedNode): Value[] {
  const named = operatorOf(String(operator.value));
  if (!named) throw unknownOperator(String(operator.value));
  return [converter.arguments.value(token, null), ...callOperator(converter, named.name, named.overload, args)];
}

/** An operator of integers that is summed in a wider type. */
function outDtype(converter: GraphConverter, { inputs: [operator, dtype, ...args] }: SerializedNode): readonly Value[] {
  const named = operatorOf(String(operator.value));
  if (!named || args.some(({ value }) => value instanceof JsonObject && value.get('graph') !== undefined)) {
    throw new CressetError(
      'EXPORT_UNSUPPORTED',
      `the program has an operator of another type of result: '${String(operator.value)}'`,
    );
  }
  const { graph } = converter;
  const code = converter.arguments.value(dtype, null);
  const no = graph.insertConstant(false);
  const wide = args.map((arg) => {
    const value = converter.arguments.value(arg, null);
    return value.type.kind === 'TensorType' ? graph.insert('aten::to', [value, code, no, no]) : value;
  });
  return [graph.insert(named.name as 'aten::mm', wide)];
}
