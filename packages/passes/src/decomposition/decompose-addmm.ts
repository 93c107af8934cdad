import { type Block, constantValue, type Graph } from '@cresset/ir';
import { type ConstantEvaluator, propagateConstants } from '../cleanup/constant-propagation.ts';
import { eliminateDeadWrites } from '../cleanup/dead-code-elimination.ts';
import { propagateInputShapes } from '../shape-analysis/propagate-input-shapes.ts';

/**
 * Takes `addmm` apart into a product and a sum where both factors are 1, which other passes know more about; fuseAddmm joins them
 * again (PyTorch: DecomposeOps). Norms are taken apart there on GPUs of CUDA only.
 */
export function decomposeAddmm(graph: Graph, evaluate: ConstantEvaluator): void {
  if (!decomposeInBlock(graph.block)) return;
  propagateInputShapes(graph, evaluate);
  propagateConstants(graph, evaluate);
  eliminateDeadWrites(graph);
}

function decomposeInBlock(block: Block): boolean {
  const graph = block.owningGraph;
  let changed = false;
  for (const node of block.nodes()) {
    // What changes within does not count, in PyTorch neither.
    node.blocks.forEach(decomposeInBlock);
    if (node.kind !== 'aten::addmm' || node.inputs.length !== 5) continue;
    if (![3, 4].every((index) => isOne(constantValue(node.input(index))))) continue;
    const [bias, left, right] = node.inputs;
    const sum = graph.withInsertPoint(node, () => {
      const one = graph.insertConstant(1n);
      const product = graph.insert('aten::mm', [left, right]);
      return graph.insertNode(graph.create('aten::add', [bias, product, one])).output();
    });
    node.output().replaceAllUsesWith(sum.setType(node.output().type));
    node.destroy();
    changed = true;
  }
  return changed;
}

function isOne(value: unknown): boolean {
  return value === 1n || value === 1;
}
