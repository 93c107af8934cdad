import type { AliasDb } from '../alias/alias-db.ts';
import { constantValue } from './constants.ts';
import { invariant } from '../error.ts';
import type { Graph } from './graph.ts';
import { insertGraph } from './insert-graph.ts';
import type { Node } from './node.ts';
import type { Symbol } from './symbol.ts';
import { unqualifiedName } from './symbol.ts';
import type { Use, Value } from './value.ts';

/** The graph within a node such as `prim::FusionGroup` (PyTorch: SubgraphUtils::getSubgraph). */
export function subgraphOf(node: Node): Graph {
  return node.g('Subgraph');
}

/** A new node of a kind whose subgraph is `node`, in `node`'s place; `node` is destroyed. */
export function createSingletonSubgraph(node: Node, kind: Symbol): Node {
  const group = node.owningGraph.createWithSubgraph(kind).copyMetadata(node).insertBefore(node);
  mergeNodeIntoSubgraph(node, group);
  return group;
}

/**
 * Moves `node` into the subgraph of `group`, whose inputs and outputs are changed as need be; `node` is destroyed. Where
 * `node` has a subgraph itself, its nodes are moved.
 *
 * Says nothing about order: whoever calls has made sure that `node` may run with the group, right before or right after it.
 */
export function mergeNodeIntoSubgraph(node: Node, group: Node): void {
  invariant(group.hasAttribute('Subgraph') && node !== group, 'mergeNodeIntoSubgraph: no subgraph to merge into');
  if (node.hasAttribute('Subgraph')) {
    mergeSubgraph(node, group);
    return;
  }
  const subgraph = subgraphOf(group);
  const isAfter = node.isAfter(group);
  const inner = new Map<Value, Value>();
  group.inputs.forEach((input, index) => inner.set(input, subgraph.inputs[index]));
  group.outputs.forEach((output, index) => inner.set(output, subgraph.outputs[index]));

  const merged = subgraph.withInsertPoint(isAfter ? subgraph.returnNode : subgraph.paramNode.next, () => {
    for (const input of valuesUsedBy(node)) {
      if (!inner.has(input)) {
        inner.set(input, bringIn(input, group));
      }
    }
    return subgraph.insertNode(subgraph.createClone(node, (value) => inner.get(value)!));
  });
  if (!isAfter) {
    replaceInputsByOutputs(node, merged, group);
  }
  for (const [index, output] of node.outputs.entries()) {
    if (output.uses.some((use) => use.user.isAfter(group))) {
      subgraph.registerOutput(merged.output(index));
      const outside = group.addOutput().copyMetadata(output);
      output.replaceAllUsesWith(outside);
    }
  }
  node.destroy();
  eraseUnusedOutputs(group);
}

/**
 * Values from outside that a node and its blocks use: the node's own inputs in order, then those of its blocks, the last one first, which is how
 * PyTorch's hash table of them is mostly read (it goes by addresses).
 */
function valuesUsedBy(node: Node): Set<Value> {
  const used = new Set<Value>();
  const defined = new Set<Value>();
  const visit = (inner: Node): void => {
    inner.inputs.forEach((input) => defined.has(input) || used.add(input));
    for (const block of inner.blocks) {
      block.inputs.forEach((input) => defined.add(input));
      for (const nested of block.nodes()) {
        visit(nested);
      }
      block.outputs.forEach((output) => defined.has(output) || used.add(output));
    }
    inner.outputs.forEach((output) => defined.add(output));
  };
  visit(node);
  return new Set([...node.inputs, ...[...used].reverse()]);
}

/** Makes an outer value known within a subgraph: constants are copied, anything else becomes an input. */
function bringIn(value: Value, group: Node): Value {
  const subgraph = subgraphOf(group);
  if (value.node.kind === 'prim::Constant' && constantValue(value) !== undefined) {
    return subgraph.insertNode(subgraph.createClone(value.node, (input) => input)).output();
  }
  group.addInput(value);
  return subgraph.addInput().copyMetadata(value);
}

/** Where a group used what a node made, it now makes that itself: those inputs go. */
function replaceInputsByOutputs(node: Node, merged: Node, group: Node): void {
  const subgraph = subgraphOf(group);
  for (const [index, output] of node.outputs.entries()) {
    const at = group.inputs.indexOf(output);
    if (at !== -1) {
      group.removeInput(at);
      subgraph.inputs[at].replaceAllUsesWith(merged.output(index));
      subgraph.eraseInput(at);
    }
  }
}

function eraseUnusedOutputs(group: Node): void {
  for (let index = group.outputs.length - 1; index >= 0; index--) {
    if (!group.output(index).hasUses()) {
      group.eraseOutput(index);
      subgraphOf(group).eraseOutput(index);
    }
  }
}

function mergeSubgraph(from: Node, into: Node): void {
  const { previous, next: end } = from;
  unmergeSubgraph(from);
  // Towards the group, so that what uses and what makes a value never part. The node before `from` may be the group.
  const nodes: Node[] = [];
  for (let node = previous.next; node !== end; node = node.next) {
    nodes.push(node);
  }
  const isAfter = nodes[0]?.isAfter(into) ?? false;
  for (const node of isAfter ? nodes : nodes.reverse()) {
    mergeNodeIntoSubgraph(node, into);
  }
}

/** Puts the nodes of a subgraph in the place of the node that holds it, which is destroyed. Returns the values' map. */
export function unmergeSubgraph(group: Node): Map<Value, Value> {
  const graph = group.owningGraph;
  const map = new Map<Value, Value>();
  const results = graph.withInsertPoint(group, () => insertGraph(graph, subgraphOf(group), group.inputs, map));
  group.outputs.forEach((output, index) => output.replaceAllUsesWith(results[index]));
  group.destroy();
  return map;
}

// ---- keeping an AliasDb valid

/** As {@link createSingletonSubgraph}; the new outputs alias what the old ones did. */
export function createSingletonSubgraphAndUpdateAliasing(node: Node, kind: Symbol, aliasDb: AliasDb): Node {
  return mergeAndUpdateAliasing(node, aliasDb, () => createSingletonSubgraph(node, kind));
}

/** As {@link mergeNodeIntoSubgraph}; the new outputs alias what the old ones did. */
export function mergeNodeIntoSubgraphAndUpdateAliasing(node: Node, group: Node, aliasDb: AliasDb): void {
  mergeAndUpdateAliasing(node, aliasDb, () => {
    mergeNodeIntoSubgraph(node, group);
    return group;
  });
}

function mergeAndUpdateAliasing(node: Node, aliasDb: AliasDb, merge: () => Node): Node {
  const graph = node.owningGraph;
  // A value is known again by its uses, which stay. Meanwhile a stand-in keeps what is known of it.
  const uses = node.outputs.map((output) => [...output.uses]);
  const standIn = graph.create('prim::Uninitialized', [], 0).insertBefore(node);
  for (const output of node.outputs) {
    aliasDb.replaceWithNewValue(output, standIn.addOutput().setType(output.type));
  }
  const group = merge();
  for (const output of group.outputs) {
    const index = uses.findIndex((list) => list.some((use) => output.uses.some((other) => isSameUse(use, other))));
    if (index !== -1) {
      aliasDb.replaceWithNewValue(standIn.output(index), output);
    }
  }
  standIn.destroy();
  return group;
}

function isSameUse(left: Use, right: Use): boolean {
  return left.user === right.user && left.offset === right.offset;
}

/** A name that says what is in a graph, `fused_add_mul` (PyTorch: generateNameForGraph). */
export function generateNameForGraph(graph: Graph, maxLength = 40, prefix = 'fused'): string {
  let name = prefix;
  for (const node of graph.nodes()) {
    if (node.kind === 'prim::Constant') {
      continue;
    }
    name += `_${unqualifiedName(node.kind)}`;
    if (name.length > maxLength) {
      return `${name.slice(0, maxLength)}_`;
    }
  }
  return name;
}
