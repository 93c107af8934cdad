import { constantValue, logGraph, mayChange, type Block, type Graph, type Node } from '@cresset/ir';
import { eliminateDeadWrites } from './dead-code-elimination.ts';

/** Takes tuples that are made and taken apart again out of the graph (PyTorch: LowerSimpleTuples). */
export function lowerSimpleTuples(graph: Graph): boolean {
  const lowered = TAKEN_APART.some((kind) => graph.kinds.has(kind)) && lowerTuplesInBlock(graph.block);
  const swept = eliminateDeadWrites(graph);
  logGraph('lower_tuples', graph);
  return swept || lowered;
}

/** As `lowerSimpleTuples`, for one block and all within it; tuples that nobody needs any more stay. */
export function lowerTuplesInBlock(block: Block): boolean {
  let changed = false;
  for (const node of block.nodes()) {
    changed = lowerNode(node) || changed;
    for (const inner of node.blocks) changed = lowerTuplesInBlock(inner) || changed;
  }
  return changed;
}

/** What takes tuples apart. */
const TAKEN_APART: readonly string[] = ['prim::TupleUnpack', 'prim::TupleIndex', 'prim::TupleSlice'];

function lowerNode(node: Node): boolean {
  if (!TAKEN_APART.includes(node.kind)) return false;
  const construct = node.input(0).node;
  if (construct.kind !== 'prim::TupleConstruct' || !node.hasUses()) return false;
  if (!mayChange('lower_tuples', node)) return false;
  const elements = construct.inputs;
  switch (node.kind) {
    case 'prim::TupleUnpack':
      node.outputs.forEach((output, index) => output.replaceAllUsesWith(elements[index]));
      return true;
    case 'prim::TupleIndex': {
      const index = constantValue(node.input(1));
      // An index that is computed is allowed where all elements have one type.
      if (typeof index !== 'bigint') return false;
      const element = elements.at(Number(index));
      if (!element) return false;
      node.output().replaceAllUsesWith(element);
      return true;
    }
    case 'prim::TupleSlice': {
      const slice = elements.slice(Number(node.i('beg')), Number(node.i('end')));
      const tuple = node.owningGraph.createTuple(slice).insertBefore(node).copyMetadata(node);
      node.output().replaceAllUsesWith(tuple.output());
      return true;
    }
    default:
      return false;
  }
}
