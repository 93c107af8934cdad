import { type Block, constantValue, type Graph, mayChange, type Node, Writers } from '@cresset/ir';

/** Joins a concatenation that is only part of another, in the same dimension, into that one (PyTorch: CombineConcats). */
export function combineConcats(graph: Graph): boolean {
  if (!graph.kinds.has('aten::cat')) return false;
  const joined = collect(graph.block, new Writers(graph));
  for (const cat of joined) join(cat);
  return joined.length > 0;
}

/** Concatenations of lists that hold another which can be joined. */
function collect(block: Block, writers: Writers): Node[] {
  const found: Node[] = [];
  for (const node of block.nodes()) {
    for (const inner of node.blocks) found.push(...collect(inner, writers));
    if (!isPlainConcat(node, writers)) continue;
    const hasPart = node.input(0).node.inputs.some(({ node: part }) => isPartOf(part, node, writers));
    if (hasPart && mayChange('concat_opt', node)) found.push(node);
  }
  return found;
}

/** The concatenation of a list that is made for it, in a known dimension. */
function isPlainConcat(node: Node, writers: Writers): boolean {
  if (node.kind !== 'aten::cat' || typeof constantValue(node.input(1)) !== 'bigint') return false;
  const list = node.input(0);
  return list.node.kind === 'prim::ListConstruct' && list.uses.length === 1 && !writers.areOf(list);
}

function isPartOf(part: Node, whole: Node, writers: Writers): boolean {
  return (
    isPlainConcat(part, writers) &&
    constantValue(part.input(1)) === constantValue(whole.input(1)) &&
    part.output().uses.length === 1 &&
    !writers.areOf(part.output())
  );
}

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
