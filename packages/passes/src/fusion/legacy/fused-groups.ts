import { type AliasDb, FloatType, type Node, TensorType, type Value } from '@cresset/ir';

/** Group nodes of the legacy fuser: their making, and how nodes move into them. The AliasDb is kept valid. */

const isTensor = (value: Value): boolean => value.type instanceof TensorType;

/** A group of one node, in its place (PyTorch: createSingletonFusionGroup). */
export function createSingletonGroup(node: Node, aliasDb: AliasDb): Node {
  const group = node.owningGraph.createWithSubgraph('prim::FusionGroup').copyMetadata(node).insertBefore(node);
  const merged = mergeNodeIntoGroup(group, node);
  group.g('Subgraph').registerOutput(merged.output());
  takePlace(group.addOutput(), node.output(), aliasDb);
  node.destroy();
  return group;
}

/** Moves a node of one output into a group that uses it; that output becomes the group's where it is used elsewhere. */
export function moveIntoGroup(group: Node, node: Node, aliasDb: AliasDb): void {
  giveOut(group, node, mergeNodeIntoGroup(group, node), aliasDb);
  node.destroy();
}

/** Moves all nodes of one group into another that uses it (PyTorch: mergeFusionGroups). */
export function mergeGroups(group: Node, other: Node, aliasDb: AliasDb): void {
  const subgraph = other.g('Subgraph');
  const graph = group.owningGraph;
  const outer = new Map<Value, Value>();
  subgraph.inputs.forEach((input, index) => outer.set(input, other.input(index)));
  const nodes: Node[] = [];
  for (const inner of subgraph.nodes()) {
    const copy = graph.createClone(inner, (value) => outer.get(value)!).insertBefore(other);
    inner.outputs.forEach((output, index) => {
      outer.set(output, copy.output(index));
      aliasDb.createValue(copy.output(index));
    });
    nodes.push(copy);
  }
  subgraph.outputs.forEach((output, index) => takePlace(outer.get(output)!, other.output(index), aliasDb));
  other.destroy();
  for (const node of nodes.reverse()) moveIntoGroup(group, node, aliasDb);
}

/**
 * Puts a copy of a node at the beginning of a group's subgraph, what it uses among the group's inputs, tensors first; constants are copied.
 * Inputs of the group that the node makes are inputs no more. The node itself stays. Returns the copy (PyTorch: mergeNodeIntoGroup).
 */
export function mergeNodeIntoGroup(group: Node, node: Node): Node {
  const subgraph = group.g('Subgraph');
  const inside = new Map<Value, Value>();
  group.inputs.forEach((input, index) => inside.set(input, subgraph.inputs[index]));
  let afterTensors = group.inputs.findLastIndex(isTensor) + 1;
  const first = subgraph.paramNode.next;
  return subgraph.withInsertPoint(first, () => {
    for (const input of node.inputs) {
      if (inside.has(input)) continue;
      if (isTensor(input)) {
        inside.set(input, subgraph.insertInput(afterTensors).setType(input.type));
        group.insertInput(afterTensors++, input);
      } else if (input.type.isSubtypeOf(FloatType.get()) && input.node.kind !== 'prim::Constant') {
        inside.set(input, subgraph.addInput().setType(input.type));
        group.addInput(input);
      } else {
        inside.set(input, subgraph.insertNode(subgraph.createClone(input.node, (value) => value)).output());
      }
    }
    const copy = subgraph.createClone(node, (value) => inside.get(value)!);
    node.outputs.forEach((output, index) => {
      const at = group.inputs.indexOf(output);
      if (at === -1) return;
      group.removeInput(at);
      subgraph.inputs[at].replaceAllUsesWith(copy.output(index));
      subgraph.eraseInput(at);
    });
    return subgraph.insertNode(copy);
  });
}

/** What is still used outside of a node that moved into a group comes out of that. */
function giveOut(group: Node, node: Node, merged: Node, aliasDb: AliasDb): void {
  node.outputs.forEach((output, index) => {
    if (!output.hasUses()) return;
    group.g('Subgraph').registerOutput(merged.output(index));
    takePlace(group.addOutput(), output, aliasDb);
  });
}

function takePlace(value: Value, old: Value, aliasDb: AliasDb): void {
  value.copyMetadata(old);
  aliasDb.replaceWithNewValue(old, value);
  old.replaceAllUsesWith(value);
}
