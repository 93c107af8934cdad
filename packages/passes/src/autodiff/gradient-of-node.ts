import {
  BoolType,
  CressetError,
  insertGraph,
  insertOperator,
  invariant,
  ListType,
  TensorType,
  type Node,
  type Value,
} from '@cresset/ir';
import { isDifferentiable } from './differentiable-ops.ts';
import { gradientPairOf } from './symbolic-script.ts';

/** Where the gradient of an argument would be: there may be none. */
export type GradientValue = Value | undefined;

/** Operators with results beside the one that has a gradient: places of maxima. */
const withOneGradient: ReadonlySet<string> = new Set(['aten::max_pool2d', 'aten::max_pool2d_with_indices']);

/**
 * Inserts a `prim::GradOf` with the gradients of a node's inputs, and gives those. A gradient is linear in those of the outputs: where all
 * of them are zero, so is it, and the block need not run (PyTorch: linearGradientForNode). The forward graph of the node's formula takes
 * its place. Throws `IR_OPERATOR` for a node that is not differentiable.
 *
 * @param gradients of the node's outputs
 */
export function insertGradientOf(node: Node, gradients: readonly Value[]): GradientValue[] {
  const graph = node.owningGraph;
  const known = withOneGradient.has(node.kind) ? gradients.slice(0, 1) : gradients;
  const linear = graph.insertNode(graph.create('prim::GradOf', known, 0)).setS('name', node.kind);
  const block = linear.addBlock();
  const results = graph.withInsertPoint(block, () => gradientsOf(node, known));
  return results.map((result) => {
    if (!result || result.mustBeNone()) return undefined;
    block.registerOutput(result);
    return linear.addOutput().copyMetadata(result);
  });
}

function gradientsOf(node: Node, gradients: readonly Value[]): readonly GradientValue[] {
  if (!isDifferentiable(node)) {
    throw new CressetError(
      'IR_OPERATOR',
      `differentiation of ${node.kind} is not supported, or it is missing necessary type information`,
    );
  }
  return scriptGradients(node, gradients) ?? graphGradients(node, gradients);
}

/** By the formula of an operator (PyTorch: build_script_grad). */
function scriptGradients(node: Node, gradients: readonly Value[]): readonly Value[] | undefined {
  const schema = node.maybeSchema();
  const pair = schema && gradientPairOf(schema);
  if (!pair) return undefined;
  const graph = node.owningGraph;
  const results = graph.withInsertPoint(node.next, () => unpacked(insertGraph(graph, pair.forward, node.inputs)));
  invariant(
    results.length === node.outputs.length + 1,
    `${node.kind}: another number of results than its derivative has`,
  );
  node.outputs.forEach((output, index) => {
    results[index].setType(output.type);
    output.replaceAllUsesWith(results[index]);
  });
  return unpacked(insertGraph(graph, pair.backward, [results.at(-1)!, ...gradients]));
}

/** The elements of a tuple that stands alone (PyTorch: unpackOutputs). */
function unpacked(values: readonly Value[]): readonly Value[] {
  const [tuple] = values;
  if (values.length !== 1 || tuple.type.kind !== 'TupleType') return values;
  if (tuple.node.kind !== 'prim::TupleConstruct') {
    const graph = tuple.owningGraph;
    return graph.insertNode(graph.createTupleUnpack(tuple)).outputs;
  }
  const elements = [...tuple.node.inputs];
  if (!tuple.hasUses()) tuple.node.destroy();
  return elements;
}

/** Of what is no operator with a formula (PyTorch: GradientHelper::buildSymbolicGradient). */
function graphGradients(node: Node, gradients: readonly Value[]): readonly GradientValue[] {
  const graph = node.owningGraph;
  switch (node.kind) {
    case 'prim::AutogradAdd':
      return [gradients[0], gradients[0]];
    case 'prim::profile':
      return [gradients[0]];
    case 'prim::ConstantChunk': {
      const [only] = gradients;
      const isList = gradients.length === 1 && only.type instanceof ListType;
      const list = isList ? only : graph.insertNode(graph.createList(TensorType.get(), gradients)).output();
      return [graph.insert('aten::cat', [list, node.i('dim')])];
    }
    case 'prim::Constant':
    case 'prim::AutogradZero':
      return [];
    case 'aten::native_batch_norm': {
      const [input, weight, , mean, variance, training, , eps] = node.inputs;
      const [, savedMean, savedDeviation] = node.outputs;
      const wanted = graph.insertConstant({ elementType: BoolType.get(), items: [true, true, true] });
      const args = [gradients[0], input, weight, mean, variance, savedMean, savedDeviation, training, eps, wanted];
      const [ofInput, ofWeight, ofBias] = insertOperator(graph, 'aten::native_batch_norm_backward', args);
      return [ofInput, ofWeight, ofBias, ...Array<undefined>(5)];
    }
    default:
      throw new CressetError('IR_OPERATOR', `failed to differentiate \`${node.kind}\``);
  }
}
