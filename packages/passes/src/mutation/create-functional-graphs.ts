import { AliasDb, type Block, type Graph, mergeNodeIntoSubgraph, type Node, unmergeSubgraph } from '@cresset/ir';
import { poolConstants } from '../cleanup/constant-pooling.ts';

/** Creating groups makes more nodes movable, to no end. */
const MAX_ROUNDS = 4;
/** A smaller group is dissolved again. */
const MIN_GROUP_SIZE = 6;

/**
 * Puts nodes that write to nothing, and whose results nobody writes to or sees outside, into `prim::FunctionalGraph` nodes (PyTorch:
 * CreateFunctionalGraphs).
 */
export function createFunctionalGraphs(graph: Graph): void {
  poolConstants(graph);
  for (let round = 0, changed = true; round < MAX_ROUNDS && changed; round++) {
    changed = new FunctionalGraphSlicer(graph).run();
  }
  poolConstants(graph);
}

/** Puts the contents of those nodes back in their place (PyTorch: InlineFunctionalGraphs). */
export function inlineFunctionalGraphs(graph: Graph): void {
  inlineInBlock(graph.block);
}

function inlineInBlock(block: Block): void {
  for (let node = block.paramNode.next; node !== block.returnNode;) {
    const { next } = node;
    node.blocks.forEach(inlineInBlock);
    if (node.kind === 'prim::FunctionalGraph') unmergeSubgraph(node);
    node = next;
  }
}

class FunctionalGraphSlicer {
  readonly #aliasDb: AliasDb;
  readonly #functional = new Set<Node>();

  constructor(private readonly graph: Graph) {
    this.#aliasDb = AliasDb.of(graph);
  }

  run(): boolean {
    // Groups change the graph under the AliasDb: all is found out beforehand.
    this.#analyzeBlock(this.graph.block);
    return this.#slice(this.graph.block);
  }

  // ---- what is functional

  #analyzeBlock(block: Block): boolean {
    let isFunctional = true;
    for (const node of block.nodes()) isFunctional = this.#analyze(node) && isFunctional;
    return isFunctional;
  }

  #analyze(node: Node): boolean {
    let isFunctional = node.outputs.every(
      (output) => !this.#aliasDb.hasWriters(output) && !this.#aliasDb.escapesScope([output]),
    );
    for (const block of node.blocks) isFunctional = this.#analyzeBlock(block) && isFunctional;
    isFunctional = isFunctional && !this.#aliasDb.isMutable(node);
    if (isFunctional) this.#functional.add(node);
    return isFunctional;
  }

  // ---- groups, from the end of a block to its beginning

  #slice(block: Block): boolean {
    let changed = false;
    const groups: Node[] = [];
    let group = this.graph.createWithSubgraph('prim::FunctionalGraph').insertBefore(block.returnNode);
    for (let node = block.returnNode.previous; node !== block.paramNode;) {
      const { previous } = node;
      if (node.kind === 'prim::Constant' || node === group) {
        node = previous;
        continue;
      }
      if (!this.#functional.has(node)) {
        for (const inner of node.blocks) changed = this.#slice(inner) && changed;
      } else if (node.kind === 'prim::FunctionalGraph' && isEmpty(group)) {
        group.destroy();
        group = node;
      } else {
        changed = true;
        if (!this.#aliasDb.moveBeforeTopologicallyValid(node, group)) {
          groups.push(group);
          group = this.graph.createWithSubgraph('prim::FunctionalGraph').insertAfter(node);
        }
        mergeNodeIntoSubgraph(node, group);
      }
      node = previous;
    }
    groups.push(group);
    for (const each of groups) {
      if (sizeOf(each.g('Subgraph').block) < MIN_GROUP_SIZE) unmergeSubgraph(each);
      else poolConstants(each.g('Subgraph'));
    }
    return changed;
  }
}

function isEmpty(group: Node): boolean {
  const subgraph = group.g('Subgraph');
  return subgraph.inputs.length === 0 && subgraph.outputs.length === 0;
}

function sizeOf(block: Block): number {
  let size = 0;
  for (const node of block.nodes()) {
    if (node.kind === 'prim::Constant') continue;
    size++;
    for (const inner of node.blocks) size += sizeOf(inner);
  }
  return size;
}
