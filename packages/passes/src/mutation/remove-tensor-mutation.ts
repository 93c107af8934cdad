import { logGraph, mayChange, type Graph, type Node, type Use, type Value } from '@cresset/ir';
import { mayGiveView, rowOf } from '../fusion/fusable.ts';

/**
 * Turns in-place pointwise operators on tensors that are new at this place into operators that give a new value (PyTorch:
 * RemoveTensorMutation): `relu_(conv(x))` into `relu(conv(x))`, which can be fused. A tensor keeps its dtype and shape when it is written to,
 * so the new node is marked: what it computes is checked and converted as the write would have been.
 *
 * A tensor is new here where the operator that makes it, in the same block, gives a fresh one, and nothing that ran before
 * the write can have kept an alias of it. Later users then use the new value.
 */
export function removeTensorMutation(graph: Graph): boolean {
  let changed = false;
  for (const node of graph.allNodes()) changed = removeMutation(node) || changed;
  logGraph('remove_mutation', graph);
  return changed;
}

const mark = 'functionalized';

/** Whether a node stands for an operator in place: its result has the dtype and the shape of its first input. */
export function isFunctionalized(node: Node): boolean {
  return node.hasAttribute(mark);
}

function removeMutation(node: Node): boolean {
  const row = rowOf(node);
  if (row?.derived?.form !== 'in-place' || !row.derived.from.pointwise) return false;
  if (!isNewAt(node.input(0), node) || !mayChange('remove_mutation', node)) return false;
  const graph = node.owningGraph;
  const functional = graph.create(node.kind.slice(0, -1), node.inputs).insertBefore(node).copyMetadata(node);
  functional.setI(mark, 1n).output().setType(node.output().type);
  if (rowOf(functional) !== row.derived.from) {
    functional.destroy();
    return false;
  }
  node.input(0).replaceAllUsesAfterNodeWith(node, functional.output());
  node.output().replaceAllUsesWith(functional.output());
  node.destroy();
  return true;
}

function isNewAt(value: Value, writer: Node): boolean {
  const maker = value.node;
  if (maker.kind.startsWith('prim::') || maker.owningBlock !== writer.owningBlock || mayGiveView(maker)) return false;
  const returned = maker.maybeSchema()?.returns[value.offset];
  if (!returned || returned.aliasInfo || returned.type.kind !== 'TensorType') return false;
  return value.uses.every((use) => use.user.isAfter(writer) || use.user === writer || readsOnly(use));
}

/** Whether what this user gives cannot be, or hold, the tensor it uses. */
function readsOnly({ user, offset }: Use): boolean {
  if (!user.kind.startsWith('aten::') || user.blocks.length > 0 || mayGiveView(user)) return false;
  const argument = user.maybeSchema()?.arguments[offset];
  return argument !== undefined && argument.type.kind === 'TensorType' && !argument.aliasInfo;
}
