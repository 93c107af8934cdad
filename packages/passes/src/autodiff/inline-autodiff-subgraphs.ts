import { unmergeSubgraph, type Block, type Graph, type Node } from '@cresset/ir';
import { eliminateDeadCode } from '../cleanup/dead-code-elimination.ts';
import { setRequiresGrad } from './update-requires-grad.ts';

/** Groups of operators whose derivatives nobody knows: they run without autograd. */
const withoutGradient: ReadonlySet<string> = new Set([
  'prim::FusionGroup',
  'prim::TensorExprGroup',
  'prim::TypeCheck',
  'prim::TensorExprDynamicGuard',
]);

/**
 * Dissolves differentiable graphs of fewer nodes than `threshold`: autograd does as well (PyTorch: InlineAutodiffSubgraphs).
 */
export function inlineAutodiffSubgraphs(graph: Graph, threshold: number): void {
  inlineInBlock(graph.block, threshold);
  eliminateDeadCode(graph);
}

function inlineInBlock(block: Block, threshold: number): void {
  for (const node of Array.from(block.nodes())) {
    for (const inner of node.blocks) inlineInBlock(inner, threshold);
    if (node.kind !== 'prim::DifferentiableGraph') continue;
    const subgraph = node.g('Subgraph');
    if (sizeOf(subgraph.block) >= threshold || !runsWithAutograd(subgraph.block)) continue;
    // Its inputs are not detached any more.
    setRequiresGrad(subgraph.block, undefined);
    unmergeSubgraph(node);
  }
}

const sizeOf = (block: Block): number =>
  [...block.nodes()].reduce((size, node) => size + 1 + node.blocks.reduce((sum, inner) => sum + sizeOf(inner), 0), 0);

/** PyTorch: canRunWithAutograd. */
const runsWithAutograd = (block: Block): boolean => [...block.nodes()].every(nodeRunsWithAutograd);

const nodeRunsWithAutograd = (node: Node): boolean =>
  node.blocks.every(runsWithAutograd) && !withoutGradient.has(node.kind) && /^(aten|prim)::/.test(node.kind);
