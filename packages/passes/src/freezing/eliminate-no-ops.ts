import { logGraph, mayChange, TensorType, type Graph, type Node } from '@cresset/ir';
import { eliminateDeadWrites } from '../cleanup/dead-code-elimination.ts';

/** Takes operators out that give their input where no gradients are (PyTorch: EliminateNoOps). */
export function eliminateNoOps(graph: Graph): boolean {
  // With `y = x.detach()`, `y is x` is False.
  if ([...graph.nodes()].some(comparesTensors)) return false;
  let changed = false;
  for (const node of graph.allNodes()) {
    if (node.kind !== 'aten::detach' || !mayChange('eliminate_no_ops', node)) continue;
    node.output().replaceAllUsesWith(node.input(0));
    changed = true;
  }
  if (changed) eliminateDeadWrites(graph);
  logGraph('eliminate_no_ops', graph);
  return changed;
}

const comparesTensors = ({ kind, inputs }: Node): boolean =>
  (kind === 'aten::__is__' || kind === 'aten::__isnot__') && inputs.every(({ type }) => type instanceof TensorType);
