import { AliasDb, type Block, constantValue, type Graph, mayChange, type Node } from '@cresset/ir';

/** Joins a concatenation that is only part of another, in the same dimension, into that one (PyTorch: CombineConcats). */
export function combineConcats(graph: Graph): boolean {
  if (!graph.kinds.has('aten::cat')) return false;
  const joined = collect(graph.block, AliasDb.lazily(graph));
  for (const cat of joined) join(cat);
  return joined.length > 0;
}

/** Concatenations of lists that hold another which can be joined. */
function collect(block: Block, aliasDb: AliasDb): Node[] {
  const found: Node[] = [];
  for (const node of block.nodes()) {
    for (const inner of node.blocks) found.push(...collect(inner, aliasDb));
    if (!isPlainConcat(node, aliasDb)) continue;
    const hasPart = node.input(0).node.inputs.some(({ node: part }) => isPartOf(part, node, aliasDb));
    if (hasPart && mayChange('concat_opt', node)) found.push(node);
  }
  return found;
}

/** The concatenation of a list that is made for it, in a known dimension. */
function isPlainConcat(node: Node, aliasDb: AliasDb): boolean {
  if (node.kind !== 'aten::cat' || typeof constantValue(node.input(1)) !== 'bigint') return false;
  const list = node.input(0);
  return list.node.kind === 'prim::ListConstruct' && list.uses.length === 1 && !aliasDb.hasWriters(list);
}

function isPartOf(part: Node, whole: Node, aliasDb: AliasDb): boolean {
  return (
    isPlainConcat(part, aliasDb) &&
    constantValue(part.input(1)) === constantValue(whole.input(1)) &&
    part.output().uses.length === 1 &&
    !aliasDb.hasWriters(part.output()) &&
    readsTheSameAt(part, whole, aliasDb)
  );
}

/** Whether what a part reads is still as it was where the whole reads it. */
const readsTheSameAt = (part: Node, whole: Node, aliasDb: AliasDb): boolean =>
  part.owningBlock === whole.owningBlock ? aliasDb.mayWaitUntil(part, whole) : !aliasDb.hasWritersWithin(part);

function join(whole: Node): void {
  const graph = whole.owningGraph;
  const parts = whole.input(0).node.inputs.flatMap((value) => {
    const { node } = value;
    const isJoined =
      node.kind === 'aten::cat' &&
      node.input(0).node.kind === 'prim::ListConstruct' &&
      node.output().uses.length === 1 &&
      constantValue(node.input(1)) === constantValue(whole.input(1));
    return isJoined ? node.input(0).node.inputs : [value];
  });
  const list = graph.create('prim::ListConstruct', parts).insertBefore(whole);
  list.output().setType(whole.input(0).type);
  whole.replaceInput(0, list.output());
}
