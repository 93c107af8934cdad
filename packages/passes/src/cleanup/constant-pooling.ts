import { AliasDb, isOnlyRead, logGraph, mayChange, type Block, type Graph, type Node } from '@cresset/ir';
import { isMutableType } from '../mutation/mutable-type.ts';
import { nodeKey } from './node-key.ts';

/** Moves constants to the front of the graph, equal ones becoming one (PyTorch: ConstantPooling). */
export function poolConstants(graph: Graph, aliasDb?: AliasDb): boolean {
  // Asked only where two lists are equal, and made only then. Moving constants changes nothing that it knows.
  let known = aliasDb;
  const changed = poolBlock(graph.block, new Map(), () => (known ??= AliasDb.of(graph)));
  logGraph('constant_pooling', graph);
  return changed;
}

function poolBlock(block: Block, pooled: Map<string, Node>, aliasDb: () => AliasDb): boolean {
  let changed = false;
  // A node that moves to the front would be met again.
  const nodes = [...block.nodes()];
  for (const node of nodes) {
    for (const inner of node.blocks) changed = poolBlock(inner, pooled, aliasDb) || changed;
    if (node.kind !== 'prim::Constant') continue;
    const key = nodeKey(node);
    const existing = key === null ? undefined : pooled.get(key);
    if (existing) {
      if (!mayBecomeOne(node, existing, aliasDb)) continue;
      if (!mayChange('constant_pooling', node, existing)) continue;
      node.replaceAllUsesWith(existing);
      node.destroy();
      changed = true;
    } else {
      if (key !== null) pooled.set(key, node);
      const first = node.owningGraph.block.paramNode.next;
      if (node !== first) {
        node.moveBefore(first);
        changed = true;
      }
    }
  }
  return changed;
}

/** Two equal lists are still two lists where one of them is written to; one object has one identity anyway. */
function mayBecomeOne(node: Node, existing: Node, aliasDb: () => AliasDb): boolean {
  // None has no value.
  if (!isMutableType(node.output().type) || !node.hasAttribute('value')) return true;
  if (
    node.kindOf('value') === existing.kindOf('value') &&
    node.attribute('value').value === existing.attribute('value').value
  )
    return true;
  if (isOnlyRead(node.output()) && isOnlyRead(existing.output())) return true;
  return aliasDb().safeToChangeAliasingRelationship(node.outputs, existing.outputs);
}
