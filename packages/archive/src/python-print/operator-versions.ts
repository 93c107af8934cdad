import { currentSince } from '@cresset/frontend';
import type { Node } from '@cresset/ir';

/** The lowest version of the file format that a node can stand in: from that on its operator means what it means now. */
export function versionOf(node: Node): number {
  const operator = node.kind.startsWith('aten::') ? node.maybeOperator() : undefined;
  if (!operator) return 1;
  const { name, overloadName } = operator;
  return currentSince(overloadName === '' ? name : `${name}.${overloadName}`);
}
