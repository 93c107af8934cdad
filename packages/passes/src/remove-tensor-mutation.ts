import { logGraph, mayChange, type Graph, type Node, type Use, type Value } from '@cresset/ir';

/**
 * Turns in-place operators on tensors that are new at this place into their out-of-place forms (PyTorch:
 * RemoveTensorMutation): `relu_(conv(x))` into `relu(conv(x))`, which can be fused.
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

function removeMutation(node: Node): boolean {
  if (!isInPlace(node) || !isNewAt(node.input(0), node)) return false;
  if (!mayChange('remove_mutation', node)) return false;
  const graph = node.owningGraph;
  const functional = graph.create(node.kind.slice(0, -1), node.inputs).insertBefore(node).copyMetadata(node);
  functional.output().setType(node.output().type);
  if (!functional.maybeOperator()) {
    functional.destroy();
    return false;
  }
  node.input(0).replaceAllUsesAfterNodeWith(node, functional.output());
  node.output().replaceAllUsesWith(functional.output());
  node.destroy();
  return true;
}

function isInPlace(node: Node): boolean {
  if (!node.kind.startsWith('aten::') || !node.kind.endsWith('_') || node.kind.endsWith('__')) return false;
  return node.maybeSchema()?.arguments[0]?.isWrite === true && node.outputs.length === 1;
}

function isNewAt(value: Value, writer: Node): boolean {
  const maker = value.node;
  if (maker.kind.startsWith('prim::') || maker.owningBlock !== writer.owningBlock) return false;
  const returned = maker.maybeSchema()?.returns[value.offset];
  if (!returned || returned.aliasInfo || returned.type.kind !== 'TensorType') return false;
  return value.uses.every((use) => use.user.isAfter(writer) || use.user === writer || readsOnly(use));
}

/** Whether what this user gives cannot be, or hold, the tensor it uses. */
function readsOnly({ user, offset }: Use): boolean {
  if (!user.kind.startsWith('aten::') || user.blocks.length > 0) return false;
  const argument = user.maybeSchema()?.arguments[offset];
  return argument !== undefined && argument.type.kind === 'TensorType' && !argument.aliasInfo;
}
