import { type Graph, logGraph, mayChange, type Node } from '@cresset/ir';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { arithmeticIn, type ConstantArithmetic, hasConstantParameters, tensorParameter } from './frozen-layers.ts';

/** Makes linear layers with constant weights products with the weight transposed in memory, and sums (PyTorch: FrozenLinearTranspose). */
export function transposeFrozenLinear(graph: Graph, evaluate: ConstantEvaluator): boolean {
  const compute = arithmeticIn(graph, evaluate);
  let changed = false;
  for (const node of graph.allNodes()) changed = transposeWeight(node, compute) || changed;
  logGraph('frozen_linear_transpose', graph);
  return changed;
}

function transposeWeight(node: Node, compute: ConstantArithmetic): boolean {
  if (node.kind !== 'aten::linear' || !hasConstantParameters(node)) return false;
  const weight = tensorParameter(node, 'weight');
  if (weight?.sizes.length !== 2 || !mayChange('frozen_linear_transpose', node)) return false;
  const graph = node.owningGraph;
  return graph.withInsertPoint(node, () => {
    const [rows, columns] = weight.sizes;
    const transposed = compute(
      'aten::contiguous',
      weight.asStrided([columns, rows], [weight.strides[1], weight.strides[0]]),
    );
    if (!transposed) return false;
    const product = graph.create('aten::matmul', [node.input(0), graph.insertConstant(transposed)]).insertAfter(node);
    graph.setInsertPoint(product);
    let result = product;
    if (tensorParameter(node, 'bias')) {
      const scale = graph.insertConstant(1n);
      result = graph.create('aten::add', [product.output(), node.namedInput('bias'), scale]).insertAfter(product);
    }
    node.output().replaceAllUsesWith(result.output());
    node.destroy();
    return true;
  });
}
