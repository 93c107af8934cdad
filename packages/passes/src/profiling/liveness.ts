import type { Block, Graph, Node, Value } from '@cresset/ir';

/**
 * For each node of a kind, the values made before it that are needed to go on from it to the graph's end, its own inputs among them
 * (PyTorch: BuildLivenessSets). Within a loop, that is what the rest of the trip needs, what further trips need and what follows.
 */
export function liveValuesAt(graph: Graph, kind: string): ReadonlyMap<Node, ReadonlySet<Value>> {
  const found = new Map<Node, ReadonlySet<Value>>();
  visit(graph.block, new Set(), found, kind);
  return found;
}

/** What is live where a block begins, the block's own inputs among it. */
function visit(
  block: Block,
  after: ReadonlySet<Value>,
  found: Map<Node, ReadonlySet<Value>>,
  kind: string,
): Set<Value> {
  const live = new Set([...after, ...block.outputs]);
  for (const node of block.reverseNodes()) {
    for (const output of node.outputs) live.delete(output);
    const beyond =
      node.kind === 'prim::Loop' ? new Set([...live, ...node.inputs.slice(0, 1), ...freeValues(node)]) : live;
    const within = node.blocks.map((inner) => {
      const atEntry = visit(inner, beyond, found, kind);
      for (const input of inner.inputs) atEntry.delete(input);
      return atEntry;
    });
    for (const values of within) for (const value of values) live.add(value);
    for (const input of node.inputs) live.add(input);
    if (node.kind === kind) found.set(node, new Set(live));
  }
  return live;
}

/** Values from outside that the blocks of a node use. */
function freeValues(node: Node): Set<Value> {
  const used = new Set<Value>();
  const made = new Set<Value>();
  const collect = (block: Block): void => {
    for (const input of block.inputs) made.add(input);
    for (const inner of block.nodes()) {
      for (const input of inner.inputs) used.add(input);
      for (const output of inner.outputs) made.add(output);
      inner.blocks.forEach(collect);
    }
    for (const output of block.outputs) used.add(output);
  };
  node.blocks.forEach(collect);
  for (const value of made) used.delete(value);
  return used;
}
