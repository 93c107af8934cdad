import { AliasDb, type Graph, type Node } from '@cresset/ir';

/** What is worked out of sizes. */
const kinds: ReadonlySet<string> = new Set([
  'aten::size',
  'aten::_size_if_not_equal',
  'prim::TupleConstruct',
  'prim::TupleUnpack',
]);

/**
 * Moves the sizes that a graph only gives out, as forward graphs do for their derivatives, behind everything else: they keep operators from
 * being fused across them.
 */
export function sinkSizeQueries(graph: Graph): void {
  const { block, returnNode } = graph;
  const sunk = new Set<Node>([returnNode]);
  let first: Node = returnNode;
  const onlyForResults = ({ outputs }: Node): boolean =>
    outputs.every(({ uses }) => uses.every(({ user }) => sunk.has(user)));
  const queries = [...block.reverseNodes()].filter((node) => {
    const isQuery = kinds.has(node.kind) && onlyForResults(node);
    if (isQuery) sunk.add(node);
    return isQuery;
  });
  if (queries.length === 0) return;
  // Whatever writes may change a size.
  const aliasDb = AliasDb.of(graph);
  if ([...graph.allNodes()].some((node) => !aliasDb.writesOf(node).isEmpty)) return;
  for (const node of queries) {
    node.moveBefore(first);
    first = node;
  }
}
