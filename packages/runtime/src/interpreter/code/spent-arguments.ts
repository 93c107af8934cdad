import type { Node, Value } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import type { LastUses } from './last-uses.ts';

/**
 * Positions of those arguments of a node that are tensors in memory which nobody else has and nobody needs once the node has run: its
 * result, or a later one, may be stored there.
 */
export function spentArguments(node: Node, lastUses: LastUses): number[] {
  if (!computesOnly(node)) return [];
  const last = lastUses.after(node);
  return node.inputs.flatMap((input, at) =>
    last.includes(input) && node.inputs.indexOf(input) === at && isApart(input) ? at : [],
  );
}

/** Whether a tensor is made here, and nothing that has it makes a view of it or keeps it. */
const isApart = ({ node, uses }: Value): boolean => computesOnly(node) && uses.every(({ user }) => computesOnly(user));

/** Whether a node works out the elements of a new tensor from those of others. */
function computesOnly(node: Node): boolean {
  const row = node.maybeOperator()?.row as OperatorRow | undefined;
  return row !== undefined && Boolean(row.pointwise ?? row.reduction) && !row.derived && !row.view && !row.remote;
}
