import type { Graph, ListType } from '@cresset/ir';

/**
 * Makes the empty list literals that are left lists of tensors, and removes those that a call has turned into a list of its own type (PyTorch:
 * eraseListLiterals).
 */
export function eraseListLiterals(graph: Graph): void {
  for (const node of Array.from(graph.allNodes())) {
    if (node.kind !== 'prim::EmptyListLiteral') {
      continue;
    }
    const output = node.output();
    if (output.hasUses()) {
      const { elementType } = output.type as ListType;
      const list = graph.createList(elementType, []).setSourceRange(node.sourceRange).insertBefore(node).output();
      // The variable's name goes with the literal.
      output.replaceAllUsesWith(list);
    }
    node.destroy();
  }
}
