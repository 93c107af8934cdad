import type { Node } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';

/** The row of the operator a node calls. */
export function rowOf(node: Node): OperatorRow | null {
  return (node.maybeOperator()?.row as OperatorRow | undefined) ?? null;
}

/** Whether a node computes each element of its one result from elements at the same place (row.pointwise), out of place. */
export function isFusable(node: Node): boolean {
  const row = rowOf(node);
  return row?.pointwise?.body !== undefined && node.outputs.length === 1 && node.output().type.kind === 'TensorType';
}
