import { type Block, constantValue, type Graph, logGraph, mayChange } from '@cresset/ir';

/** Takes out expansions that the compiler put in by itself (PyTorch: RemoveExpands). */
export function removeExpands(graph: Graph): void {
  if (graph.kinds.has('aten::expand')) removeInBlock(graph.block);
  logGraph('remove_expands', graph);
}

function removeInBlock(block: Block): void {
  for (const node of block.nodes()) {
    node.blocks.forEach(removeInBlock);
    if (node.kind !== 'aten::expand' || constantValue(node.namedInput('implicit')) !== true) continue;
    if (!mayChange('remove_expands', node)) continue;
    node.output().replaceAllUsesWith(node.input(0));
    node.destroy();
  }
}
