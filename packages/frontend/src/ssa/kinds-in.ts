import type { Block, Graph, Symbol } from '@cresset/ir';

/** How many nodes there are of each kind. */
export type Kinds = ReadonlyMap<Symbol, number>;

/** Counts all nodes of a graph: what deals with loops, closures and `with` need not look for them in functions that have none, as most have. */
export function kindsIn(graph: Graph): Kinds {
  const counts = new Map<Symbol, number>();
  count(graph.block, counts);
  return counts;
}

function count(block: Block, counts: Map<Symbol, number>): void {
  for (const { kind, blocks } of block.nodes()) {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (blocks.length > 0) for (const inner of blocks) count(inner, counts);
  }
}
