import { type Block, type Graph, insertGraph, type Value } from '@cresset/ir';

/** Runs what is forked where it is forked (PyTorch: InlineForkWait). */
export function inlineForkWait(graph: Graph): void {
  inlineInBlock(graph.block, new Map());
}

function inlineInBlock(block: Block, results: Map<Value, Value>): void {
  const graph = block.owningGraph;
  for (const node of block.nodes()) {
    if (node.kind !== 'prim::fork') continue;
    const [result] = graph.withInsertPoint(node, () => insertGraph(graph, node.g('Subgraph'), node.inputs));
    results.set(node.output(), result);
  }
  for (const node of block.nodes()) {
    for (const inner of node.blocks) inlineInBlock(inner, results);
    const result = node.kind === 'aten::wait' ? results.get(node.input()) : undefined;
    if (!result) continue;
    node.output().replaceAllUsesWith(result);
    node.destroy();
  }
  // Last, so that whoever waits is still seen to wait for them.
  for (const node of block.nodes()) {
    if (node.kind !== 'prim::fork') continue;
    node.output().replaceAllUsesWith(results.get(node.output())!);
    node.destroy();
  }
}
