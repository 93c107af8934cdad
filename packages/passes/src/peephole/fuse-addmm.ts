import { type Block, constantValue, type Graph, type Node, TensorType } from '@cresset/ir';

/**
 * Computes `mm(a, b) + c` by `addmm`, which is one kernel instead of two. What it replaces stays for dead code elimination (PyTorch:
 * FuseAddMM).
 */
export function fuseAddmm(graph: Graph): boolean {
  return fuseInBlock(graph.block);
}

function fuseInBlock(block: Block): boolean {
  let changed = false;
  for (const node of block.nodes()) {
    if (isPlainAddition(node)) {
      // The product may be either of the two.
      for (const side of [0, 1]) changed = fuseProduct(node, side) || changed;
    }
    for (const inner of node.blocks) changed = fuseInBlock(inner) || changed;
  }
  return changed;
}

function isPlainAddition(node: Node): boolean {
  if (node.kind !== 'aten::add' || node.maybeSchema()?.overloadName !== 'Tensor') return false;
  const alpha = constantValue(node.input(2));
  return alpha === 1n || alpha === 1;
}

function fuseProduct(add: Node, side: number): boolean {
  const product = add.input(side).node;
  const added = add.input(1 - side);
  // addmm takes what it adds in the product's dtype only, where add takes a tensor without dimensions in any.
  if (product.kind !== 'aten::mm' || !(added.type instanceof TensorType) || added.type.dim === undefined) return false;
  const [left, right] = product.inputs;
  const typed = [left, right].find(({ type }) => type instanceof TensorType && type.scalarType !== undefined);
  if (!typed) return false;
  const { scalarType } = typed.type as TensorType;
  const graph = add.owningGraph;
  const addmm = graph.withInsertPoint(add, () => {
    let bias = added;
    const type = added.type as TensorType;
    if (type.dim === 0 && type.scalarType !== scalarType) {
      bias = graph.insertNode(graph.create('aten::type_as', [added, typed])).output();
      if (type.isComplete()) bias.setType(type.withScalarType(scalarType).contiguous());
    }
    const one = graph.insertConstant(1n);
    return graph.insertNode(graph.create('aten::addmm', [bias, left, right, one, one])).output();
  });
  addmm.copyMetadata(add.output());
  add.output().replaceAllUsesWith(addmm);
  return true;
}
