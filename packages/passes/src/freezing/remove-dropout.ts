import { type Block, constantValue, type Graph, logGraph, mayChange } from '@cresset/ir';

const dropouts: readonly string[] = [
  'aten::dropout',
  'aten::dropout_',
  'aten::feature_dropout',
  'aten::feature_dropout_',
];

/** Takes out dropouts that are known to be in evaluation mode (PyTorch: removeDropout). */
export function removeDropout(graph: Graph): void {
  if (dropouts.some((kind) => graph.kinds.has(kind))) removeInBlock(graph.block);
  logGraph('remove_dropout', graph);
}

function removeInBlock(block: Block): void {
  for (const node of block.nodes()) {
    node.blocks.forEach(removeInBlock);
    if (!dropouts.includes(node.kind) || constantValue(node.input(2)) !== false) continue;
    if (!mayChange('remove_dropout', node)) continue;
    node.output().replaceAllUsesWith(node.input(0));
    node.destroy();
  }
}
