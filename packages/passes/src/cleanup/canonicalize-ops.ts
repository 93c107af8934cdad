import { type Block, constantValue, type Graph, logGraph, mayChange, type Node, type Value } from '@cresset/ir';
import { eliminateDeadWrites } from './dead-code-elimination.ts';
import { replaceTensorsByNumbers } from './number-constants.ts';

/**
 * Gives operators the form that the older fuser wants: chunks of a known number with one output each, and constant tensors without
 * dimensions as numbers (PyTorch: CanonicalizeOps).
 */
export function canonicalizeOps(graph: Graph): void {
  if (graph.kinds.has('aten::chunk')) makeConstantChunks(graph.block);
  replaceTensorsByNumbers(graph.block);
  eliminateDeadWrites(graph);
  logGraph('canonicalize_graph_fuser_ops', graph);
}

function makeConstantChunks(block: Block): void {
  for (const node of block.nodes()) {
    for (const inner of node.blocks) makeConstantChunks(inner);
    if (node.kind === 'aten::chunk') makeConstantChunk(node);
  }
}

function makeConstantChunk(node: Node): void {
  const chunks = constantValue(node.input(1));
  const dim = constantValue(node.input(2));
  if (typeof chunks !== 'bigint' || typeof dim !== 'bigint') return;
  const outputs = outputsOf(node, Number(chunks));
  if (!outputs || !mayChange('canonicalize_graph_fuser_ops', node)) return;
  const graph = node.owningGraph;
  const chunk = graph.create('prim::ConstantChunk', [node.input(0)], outputs.length).insertBefore(node);
  chunk.setI('chunks', chunks).setI('dim', dim);
  for (const [output, offset] of outputs) {
    output.replaceAllUsesWith(chunk.output(offset).setType(output.type));
  }
}

/** What is taken out of the list of chunks, with its place in it; null where the list is used in other ways too. */
function outputsOf(chunk: Node, chunks: number): (readonly [Value, number])[] | null {
  const outputs: (readonly [Value, number])[] = [];
  for (const { user } of chunk.output().uses) {
    if (user.kind !== 'prim::ListUnpack' || user.outputs.length !== chunks) return null;
    user.outputs.forEach((output, index) => outputs.push([output, index]));
  }
  return outputs;
}
