import type { Node } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';

/** The row of the operator a node calls. */
export function rowOf(node: Node): OperatorRow | null {
  return (node.maybeOperator()?.row as OperatorRow | undefined) ?? null;
}

/** Whether a node computes each element of its one result from elements at the same place (row.pointwise), out of place. */
export function isFusable(node: Node): boolean {
  return rowOf(node)?.pointwise?.body !== undefined && returnsOneTensor(node);
}

/**
 * Whether a node is computed by kernels of its own (a product, a convolution, a reduction), whose last step can take in what pointwise
 * operators make of its result.
 */
export function isAnchor(node: Node): boolean {
  const row = rowOf(node);
  if (!row || row.derived || row.view || row.scalar || row.nondeterministic || row.readsNoData) return false;
  return (row.lower !== undefined || row.reduction !== undefined) && returnsOneTensor(node);
}

/** The list a concatenation is made of, where nothing else uses that list: both may end a group (PyTorch: FusedConcat). */
export function concatenatedList(node: Node): Node | null {
  if (node.kind !== 'aten::cat' || node.input(1).node.kind !== 'prim::Constant') return null;
  const list = node.input(0).node;
  const isOwn = list.kind === 'prim::ListConstruct' && list.owningBlock === node.owningBlock;
  return isOwn && list.output().uses.length === 1 ? list : null;
}

function returnsOneTensor(node: Node): boolean {
  return node.outputs.length === 1 && node.output().type.kind === 'TensorType';
}
