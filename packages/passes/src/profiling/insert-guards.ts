import { TensorType, type Block, type Graph } from '@cresset/ir';
import { profiledType, removeProfilingNodes } from './profiling-nodes.ts';

/** Which guard a type that was seen becomes: exact, or of the rank alone. */
export type TypeConverter = (type: TensorType) => TensorType;

/**
 * Puts a `prim::Guard` in the place of every `prim::profile` that saw a tensor: its output is its input, and of the type that was seen
 * (PyTorch: InsertGuards).
 */
export function insertGuards(graph: Graph, convert: TypeConverter): void {
  guardBlock(graph.block, convert);
  removeProfilingNodes(graph.block);
}

function guardBlock(block: Block, convert: TypeConverter): void {
  for (const node of block.nodes()) {
    const seen = profiledType(node);
    // An Optional that was a tensor in this run may be None in the next, and no type of tensors says so.
    if (!seen || !(node.input().type instanceof TensorType)) {
      node.blocks.forEach((inner) => guardBlock(inner, convert));
      continue;
    }
    const guard = block.owningGraph.create('prim::Guard', [node.input()]).insertBefore(node);
    node.output().replaceAllUsesWith(guard.output().setType(convert(seen)));
    node.destroy();
  }
}
