import type { Graph, Node } from '@cresset/ir';
import { rowOf } from './fusable.ts';
import { inline, insertGraphBefore } from './inliner.ts';

/** Compiles the TorchScript text of a row's decomposition to a graph over the row's arguments. */
export type DecompositionCompiler = (schema: string, decomposition: string) => Graph;

/** Puts operators that are defined in terms of others (row.decomposition) in those terms (PyTorch: RunDecompositions). */
export function decomposeOps(graph: Graph, compile: DecompositionCompiler): boolean {
  let changed = false;
  // Decompositions may use decomposed operators: what is inserted is looked at again.
  for (let found = decomposableNodes(graph); found.length > 0; found = decomposableNodes(graph)) {
    for (const node of found) decompose(node, compile);
    changed = true;
  }
  return changed;
}

function decomposableNodes(graph: Graph): Node[] {
  return [...graph.allNodes()].filter((node) => {
    const row = rowOf(node);
    return row?.decomposition !== undefined || row?.derived?.from.decomposition !== undefined;
  });
}

function decompose(node: Node, compile: DecompositionCompiler): void {
  const row = rowOf(node)!;
  const source = row.derived?.from ?? row;
  const body = compile(source.schema, source.decomposition!);
  inline(body);
  const isOut = row.derived?.form === 'out';
  const args = isOut ? node.inputs.slice(0, body.inputs.length) : node.inputs;
  const targets = isOut ? node.inputs.slice(body.inputs.length) : [node.input(0)];
  const graph = node.owningGraph;
  let results = insertGraphBefore(node, body, args);
  if (row.derived) {
    results = results.map((result, index) =>
      graph.withInsertPoint(node, () => {
        const nonBlocking = graph.insertConstant(false);
        const kind = isOut ? 'aten::_resize_and_copy_' : 'aten::copy_';
        return graph.insertNode(graph.create(kind, [targets[index], result, nonBlocking])).output();
      }),
    );
  }
  node.outputs.forEach((output, index) => output.replaceAllUsesWith(results[index].setType(output.type)));
  node.destroy();
}
