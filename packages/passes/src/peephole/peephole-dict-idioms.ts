import {
  AliasDb,
  type Block,
  constantValue,
  DictType,
  type Graph,
  mayChange,
  type Node,
  type Value,
} from '@cresset/ir';

/**
 * Looks into dicts of constant keys that are made in the graph and never written to (PyTorch: PeepholeOptimizeDictIdioms).
 */
export function peepholeDictIdioms(graph: Graph): boolean {
  return graph.kinds.has('prim::DictConstruct') && runOn(graph.block, AliasDb.lazily(graph));
}

function runOn(block: Block, aliasDb: AliasDb): boolean {
  let changed = false;
  for (const node of block.nodes()) {
    for (const inner of node.blocks) changed = runOn(inner, aliasDb) || changed;
    const dict = node.inputs[0];
    const isDict = dict?.type instanceof DictType && dict.node.kind === 'prim::DictConstruct';
    if (!isDict || (node.kind !== 'aten::len' && node.kind !== 'aten::__getitem__')) continue;
    if (aliasDb.hasWriters(dict)) continue;
    const entries = entriesOf(dict.node);
    if (!entries) continue;
    const found = node.kind === 'aten::len' ? lengthOf(node, entries) : entries.get(constantValue(node.input(1)));
    if (!found || !mayChange('peephole_dict_idioms', node, found.node)) continue;
    node.output().replaceAllUsesWith(found);
    changed = true;
  }
  return changed;
}

/** Values by key, the last of equal keys; null where a key is no constant. */
function entriesOf(construct: Node): Map<unknown, Value> | null {
  const entries = new Map<unknown, Value>();
  for (let index = 0; index < construct.inputs.length; index += 2) {
    const key = constantValue(construct.input(index));
    if (!['bigint', 'string', 'number', 'boolean'].includes(typeof key)) return null;
    entries.set(key, construct.input(index + 1));
  }
  return entries;
}

function lengthOf(node: Node, entries: ReadonlyMap<unknown, Value>): Value {
  const graph = node.owningGraph;
  return graph.withInsertPoint(node, () => graph.insertConstant(BigInt(entries.size)));
}
