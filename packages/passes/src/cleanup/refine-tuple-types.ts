import { type Block, type Graph, type Node, TupleType } from '@cresset/ir';

/** Gives tuples that are made in the graph the types of what they are made of (PyTorch: RefineTupleTypes). */
export function refineTupleTypes(graph: Graph): void {
  refineInBlock(graph.block);
}

function refineInBlock(block: Block): void {
  for (const node of block.nodes()) {
    node.blocks.forEach(refineInBlock);
    if (node.kind === 'prim::TupleConstruct') refineTupleType(node);
  }
}

/** The same for the tuple that one node makes. */
export function refineTupleType(node: Node): void {
  const { type } = node.output();
  if (!(type instanceof TupleType)) return;
  node.output().setType(
    new TupleType(
      node.inputs.map((input) => input.type),
      type.named,
    ),
  );
}
