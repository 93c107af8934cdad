import { constantValue, type Node } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';

/** With fewer trips, known beforehand, nothing is left of the loop. */
const MIN_TRIPS = 9n;
/** A longer body makes nothing that is one kernel. */
const MAX_NODES = 64;

/**
 * Whether a loop goes along a tensor by the number of its trip, and does nothing in a trip but compute tensors, point by point and by
 * sums along dimensions, and put them at the ends of lists: a scan, or what is one operator written as a loop.
 */
export function isLikelyScan(loop: Node): boolean {
  const trips = constantValue(loop.input(0));
  if (typeof trips === 'bigint' && trips < MIN_TRIPS) return false;
  const [body] = loop.blocks;
  const [trip, ...carried] = body.inputs;
  if (carried.some(({ type }) => type.kind !== 'TensorType')) return false;
  const nodes = [...body.nodes()];
  const isIndexed = nodes.some((node) => rowOf(node)?.view && node.inputs.includes(trip));
  return isIndexed && nodes.length <= MAX_NODES && nodes.every(isPlain);
}

const plainKinds = new Set(['prim::Constant', 'prim::GetAttr', 'aten::append', 'aten::copy_']);

function isPlain(node: Node): boolean {
  if (plainKinds.has(node.kind)) return true;
  if (node.kind === 'prim::ListConstruct') return node.output().type.str() === 'int[]';
  const row = rowOf(node);
  if (row?.scalar) return node.output().type.kind === 'IntType';
  return !!row && (row.pointwise ?? row.reduction ?? row.view) !== undefined;
}

const rowOf = (node: Node): OperatorRow | undefined => node.maybeOperator()?.row as OperatorRow | undefined;
