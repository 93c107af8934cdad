import {
  AliasDb,
  type Block,
  createSingletonSubgraphAndUpdateAliasing,
  type Graph,
  mergeNodeIntoSubgraphAndUpdateAliasing,
  type Node,
  unmergeSubgraph,
  type Value,
} from '@cresset/ir';
import { eliminateCommonSubexpressions } from '../cleanup/common-subexpression-elimination.ts';
import { isDifferentiable } from './differentiable-ops.ts';

/**
 * Puts nodes that can be differentiated into `prim::DifferentiableGraph` nodes, which a differentiation pass then makes a forward and
 * a backward graph of. Gives those nodes (PyTorch: CreateAutodiffSubgraphs).
 *
 * @param threshold groups of fewer nodes are dissolved again
 * @param keptApart kinds of nodes that are in no group
 */
export function createAutodiffSubgraphs(
  graph: Graph,
  threshold = 2,
  keptApart: ReadonlySet<string> = new Set(),
): readonly Node[] {
  const groups: Node[] = [];
  const slicer = new SubgraphSlicer(AliasDb.of(graph), threshold, keptApart, groups);
  slicer.buildUp(graph.block);
  slicer.cleanUp(graph.block);
  eliminateCommonSubexpressions(graph);
  return groups;
}

const KIND = 'prim::DifferentiableGraph';

/** Their results alias their arguments, which a group's inputs and outputs must not. */
const views: ReadonlySet<string> = new Set([
  'aten::view',
  'aten::view_as',
  'aten::reshape',
  'aten::reshape_as',
  'aten::transpose',
  'aten::expand',
  'aten::expand_as',
]);

class SubgraphSlicer {
  constructor(
    private readonly aliasDb: AliasDb,
    private readonly threshold: number,
    private readonly keptApart: ReadonlySet<string>,
    private readonly groups: Node[],
  ) {}

  buildUp(block: Block): void {
    // Moving nodes may put some behind the place that has been reached: until nothing changes any more.
    for (let changed = true; changed;) {
      changed = false;
      for (const [begin, end] of this.#workBlocks(block)) {
        for (let node = end.previous; node !== begin;) {
          const [next, hasChanged] = this.#scan(node, block);
          changed = hasChanged || changed;
          node = next;
        }
      }
    }
    for (const node of block.nodes()) for (const inner of node.blocks) this.buildUp(inner);
  }

  #mayBeMerged(node: Node): boolean {
    const { kind } = node;
    if (kind === KIND) return true;
    return kind !== 'prim::Constant' && !views.has(kind) && !this.keptApart.has(kind) && isDifferentiable(node);
  }

  /** Stretches between nodes that nothing can be moved across, the last first, where they hold enough to be worth it. */
  #workBlocks(block: Block): (readonly [begin: Node, end: Node])[] {
    const found: (readonly [Node, Node])[] = [];
    let end = block.returnNode;
    let count = 0;
    let node = end.previous;
    for (; node !== block.paramNode; node = node.previous) {
      if (this.#mayBeMerged(node)) count++;
      if (!node.hasSideEffects()) continue;
      if (count >= this.threshold) found.push([node, end]);
      count = 0;
      end = node;
    }
    if (count >= this.threshold) found.push([node, end]);
    return found;
  }

  /** Draws a maker of the node's inputs into its group; gives the node to go on with, and whether there was one. */
  #scan(node: Node, block: Block): readonly [Node, boolean] {
    if (!this.#mayBeMerged(node)) return [node.previous, false];
    const group = node.kind === KIND ? node : createSingletonSubgraphAndUpdateAliasing(node, KIND, this.aliasDb);
    const makers = group.inputs
      .map((input) => input.node)
      .filter((maker) => maker.owningBlock === block && maker !== block.paramNode)
      .sort((a, b) => (a.isAfter(b) ? -1 : 1));
    for (const maker of makers) {
      if (!this.#mayBeMerged(maker) || !this.aliasDb.moveBeforeTopologicallyValid(maker, group)) continue;
      mergeNodeIntoSubgraphAndUpdateAliasing(maker, group, this.aliasDb);
      return [group, true];
    }
    return [group.previous, false];
  }

  cleanUp(block: Block): void {
    for (let node = block.returnNode.previous; node !== block.paramNode;) {
      const { previous } = node;
      if (node.kind === KIND) {
        unmergeAliases(node);
        // Constants come with every node that uses them.
        eliminateCommonSubexpressions(node.g('Subgraph'));
        if (this.#isTooSmall(node)) unmergeSubgraph(node);
        else this.groups.push(node);
      }
      node = previous;
    }
    for (const node of block.nodes()) for (const inner of node.blocks) this.cleanUp(inner);
  }

  #isTooSmall(group: Node): boolean {
    const executed = [...group.g('Subgraph').nodes()].filter((node) => !node.isNotExecuted());
    return executed.length < this.threshold;
  }
}

/**
 * Takes out of a group what makes outputs that alias its inputs or each other: autograd would not know that they do (PyTorch:
 * unmergeOutputsAlisingInputs).
 */
function unmergeAliases(group: Node): void {
  for (let found = findAlias(group); found; found = findAlias(group)) unmerge(found, group);
}

/** The last node of a group among those that make an output which aliases an input or another output, and their users. */
function findAlias(group: Node): Node | undefined {
  const subgraph = group.g('Subgraph');
  const aliasDb = AliasDb.of(subgraph);
  const visible: Value[] = [...subgraph.inputs];
  const leaving = new Set<Node>();
  let last: Node | undefined;
  for (const node of subgraph.nodes()) {
    if (node.kind === 'prim::Constant') continue;
    const outputs = node.outputs.filter((output) => subgraph.outputs.includes(output));
    const isAlias = outputs.some((output) => aliasDb.mayAlias(visible, output));
    if (isAlias || node.inputs.some((input) => leaving.has(input.node))) {
      leaving.add(node);
      last = node;
    }
    visible.push(...outputs);
  }
  return last;
}

function unmerge(node: Node, group: Node): void {
  const graph = group.owningGraph;
  const subgraph = group.g('Subgraph');
  const place = group.next;
  const outside = (value: Value): Value => {
    const input = subgraph.inputs.indexOf(value);
    if (input !== -1) return group.input(input);
    if (value.node.kind === 'prim::Constant') {
      return graph.createClone(value.node, outside).insertBefore(place).output();
    }
    const known = subgraph.outputs.indexOf(value);
    if (known !== -1) return group.output(known);
    subgraph.registerOutput(value);
    return group.addOutput().setType(value.type);
  };
  const copy = graph.createClone(node, outside).insertBefore(place);
  for (let index = subgraph.outputs.length - 1; index >= 0; index--) {
    const offset = node.outputs.indexOf(subgraph.outputs[index]);
    if (offset === -1) continue;
    group.output(index).replaceAllUsesWith(copy.output(offset));
    group.eraseOutput(index);
    subgraph.eraseOutput(index);
  }
  node.destroy();
  for (let index = subgraph.inputs.length - 1; index >= 0; index--) {
    if (subgraph.inputs[index].hasUses()) continue;
    subgraph.eraseInput(index);
    group.removeInput(index);
  }
}
