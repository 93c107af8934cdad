import type { Graph } from '@cresset/ir';

/** Takes inputs away from forks that their graphs do not use (PyTorch: EliminateDeadCode's eliminateDeadForkInputs). */
export function removeDeadForkInputs(graph: Graph): void {
  for (const node of graph.allNodes()) {
    if (node.kind !== 'prim::fork') continue;
    const subgraph = node.g('Subgraph');
    for (let index = subgraph.inputs.length - 1; index >= 0; index--) {
      if (subgraph.inputs[index].hasUses()) continue;
      subgraph.eraseInput(index);
      node.removeInput(index);
    }
  }
}
