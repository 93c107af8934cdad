import { type Block, constantValue, type Graph, isTensorConstant, mayChange, type Node } from '@cresset/ir';
import { readScalar } from '@cresset/operators';
import { Tensor } from '@cresset/tensor';

const arithmetic: ReadonlySet<string> = new Set(['aten::add', 'aten::sub', 'aten::mul', 'aten::div']);

/**
 * Has arithmetic take constant tensors without dimensions, the second operand only, as numbers (PyTorch: CanonicalizeOps, which every
 * plan goes through). That is visible: a number has less say in type promotion than a tensor.
 */
export function replaceTensorsByNumbers(block: Block): void {
  for (const node of block.nodes()) {
    for (const inner of node.blocks) replaceTensorsByNumbers(inner);
    if (arithmetic.has(node.kind) && node.maybeSchema()?.overloadName === 'Tensor') replaceTensorByNumber(node);
  }
}

function replaceTensorByNumber(node: Node): void {
  const [self, tensor, ...alpha] = node.inputs;
  const other = constantValue(tensor);
  if (!isTensorConstant(other) || !(other instanceof Tensor) || other.dim !== 0 || !other.storage.isOnHost) return;
  // There is no arithmetic with a flag; PyTorch fails here.
  if (other.dtype === 'bool' || alpha.some((value) => value.node.kind !== 'prim::Constant')) return;
  if (!mayChange('canonicalize_graph_fuser_ops', node)) return;
  const graph: Graph = node.owningGraph;
  graph.withInsertPoint(node, () => {
    const number = graph.insertConstant(readScalar(other, other.storageOffset));
    const made = graph.insertNode(graph.create(node.kind, [self, number, ...alpha]));
    made.copyMetadata(node).output().copyMetadata(node.output());
    node.output().replaceAllUsesWith(made.output());
  });
  node.destroy();
}
