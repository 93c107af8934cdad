import { constantValue, type Graph, type Node, type OperatorArgument } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';

const CONVOLUTIONS: ReadonlySet<string> = new Set(['aten::conv1d', 'aten::conv2d', 'aten::conv3d']);

/** Whether a node is a convolution whose weights can take up what stands behind it. */
export function isFoldableConvolution(node: Node): boolean {
  if (node.kind !== 'aten::_convolution') return CONVOLUTIONS.has(node.kind);
  return constantValue(node.namedInput('transposed')) === false;
}

/** Whether all that a node takes beside its first input is constant. */
export function hasConstantParameters(node: Node): boolean {
  return node.inputs.slice(1).every((input) => input.node.kind === 'prim::Constant');
}

/** A parameter as a tensor; null for None. */
export function tensorParameter(node: Node, name: string): Tensor | null {
  const value = constantValue(node.namedInput(name));
  return value instanceof Tensor ? value : null;
}

/** What an operator makes of constants; null where one of them is null, or it cannot be worked out here. */
export type ConstantArithmetic = (kind: string, ...args: readonly (OperatorArgument | null)[]) => Tensor | null;

/** Works out constants of a graph as a run of it would. */
export function arithmeticIn(graph: Graph, evaluate: ConstantEvaluator): ConstantArithmetic {
  return (kind, ...args) => {
    if (args.includes(null)) return null;
    const { node } = graph.insert(kind, args as readonly OperatorArgument[]);
    const inputs = new Set(node.inputs);
    const results = evaluate(
      node,
      node.inputs.map((input) => constantValue(input)),
    );
    node.destroy();
    for (const input of inputs) input.node.destroy();
    return results?.[0] instanceof Tensor ? results[0] : null;
  };
}

/** Gives a layer another weight or bias. */
export function replaceParameter(layer: Node, name: string, tensor: Tensor, suffix: string): void {
  const graph = layer.owningGraph;
  const before = layer.namedInput(name);
  const constant = graph.withInsertPoint(layer, () => graph.insertConstant(tensor));
  constant.setDebugName(`${before.debugName}_fused_${suffix}`);
  layer.replaceInputWith(before, constant);
}
