import { type Graph, IntType, ListType, type Node, TensorType, type Value } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import { inline, insertGraphBefore } from '../../cleanup/inliner.ts';
import type { DecompositionCompiler } from '../../decomposition/decompose-ops.ts';

/** What sizes broadcast to, where it is known that they do. */
const broadcastSizes: OperatorRow = {
  schema: 'prim::BroadcastSizes(...) -> int[]',
  decomposition: `
def broadcast_sizes(sizes: List[List[int]]) -> List[int]:
    rank = 0
    for size in sizes:
        rank = max(rank, len(size))
    result = [1] * rank
    for size in sizes:
        for at in range(len(size)):
            if size[at] != 1:
                result[rank - len(size) + at] = size[at]
    return result
`,
};

/** The size of all chunks but the last, and that of the last. */
const chunkSizes: OperatorRow = {
  schema: 'prim::ChunkSizes(...) -> ...',
  decomposition: `
def chunk_sizes(size: List[int], dim: int, chunks: int) -> Tuple[List[int], List[int]]:
    step = (size[dim] + chunks - 1) // chunks
    regular, last = size.copy(), size.copy()
    regular[dim] = step
    last[dim] = size[dim] - step * (chunks - 1)
    return regular, last
`,
};

/** Puts concatenations that groups end with, in their graphs or beside them, in terms of operators. */
export function lowerFusedConcats(graph: Graph): void {
  for (const concat of nodesOf(graph, 'prim::FusedConcat')) lowerConcat(concat);
}

/** Puts what computes sizes beside groups in terms of operators. */
export function lowerGroupSizes(graph: Graph, compile: DecompositionCompiler): void {
  for (const node of nodesOf(graph, 'prim::BroadcastSizes')) {
    const sizes = graph.createList(new ListType(IntType.get()), node.inputs).insertBefore(node).output();
    replaceByBody(node, compile(broadcastSizes), [sizes]);
  }
  for (const node of nodesOf(graph, 'prim::ChunkSizes')) {
    const numbers = graph.withInsertPoint(node, () =>
      ['dim', 'chunks'].map((name) => graph.insertConstant(node.i(name))),
    );
    replaceByBody(node, compile(chunkSizes), [node.input(), ...numbers]);
  }
}

function nodesOf(graph: Graph, kind: string): Node[] {
  return [...graph.allNodes()].filter((node) => node.kind === kind);
}

/** What a concatenation at the end of a group became is one again. */
function lowerConcat(fused: Node): void {
  const graph = fused.owningGraph;
  const joined = graph.withInsertPoint(fused, () => {
    const list = graph.insertNode(graph.createList(TensorType.get(), fused.inputs)).output();
    return graph.insert('aten::cat', [list, graph.insertConstant(fused.i('dim'))]);
  });
  fused.output().replaceAllUsesWith(joined.copyMetadata(fused.output()));
  fused.destroy();
}

function replaceByBody(node: Node, compiled: Graph, inputs: readonly Value[]): void {
  const body = compiled.copy();
  inline(body);
  const [result] = insertGraphBefore(node, body, inputs, node.callstack);
  const graph = node.owningGraph;
  const results = node.outputs.length > 1 ? graph.createTupleUnpack(result).insertBefore(node).outputs : [result];
  node.outputs.forEach((output, at) => output.replaceAllUsesWith(results[at]));
  node.destroy();
}
