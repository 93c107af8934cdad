import { type Block, constantValue, type Graph } from '@cresset/ir';

/** Takes out expansions that the compiler put in by itself (PyTorch: RemoveExpands). */
export function removeExpands(graph: Graph): void {
  removeInBlock(graph.block);
}

function removeInBlock(block: Block): void {
  for (const node of block.nodes()) {
    node.blocks.forEach(removeInBlock);
    if (node.kind !== 'aten::expand' || constantValue(node.namedInput('implicit')) !== true) continue;
    node.output().replaceAllUsesWith(node.input(0));
    node.destroy();
  }
}
