import { AliasDb, type Block, type Graph, logGraph, mayChange, type Node, TensorType, type Value } from '@cresset/ir';
import { eliminateCommonSubexpressions } from '../../cleanup/common-subexpression-elimination.ts';
import { poolConstants } from '../../cleanup/constant-pooling.ts';
import { eliminateDeadWrites } from '../../cleanup/dead-code-elimination.ts';
import { removeOutputsUsedOnlyInSize, simplifySizeExpressions } from '../size-expressions.ts';
import { fuseStartingChunks, replaceBroadcastingChunks, tryToMoveChunk } from './chunk-motion.ts';
import { createFusedConcat, isConcatOutput, isFusableConcat } from './fused-concat.ts';
import { createSingletonGroup, mergeGroups, moveIntoGroup } from './fused-groups.ts';
import { isSimpleMap } from './simple-map.ts';

export interface LegacyFuserOptions {
  /** Whether tensors of a known device can be in groups; as in PyTorch, those on a CPU cannot unless one says so. */
  readonly canFuseOn?: (device: string) => boolean;
  /** Tensors whose device is not known are left out. */
  readonly strict?: boolean;
}

/** Arguments that a kernel can have, results among them. */
const MAX_ARGUMENTS = 128;

/**
 * Groups pointwise operators into `prim::FusionGroup` nodes as PyTorch's legacy executor does (PyTorch: FuseGraph): from the last node up,
 * each takes the makers of its inputs in. A group can begin with chunks and end with concatenations, and what is only asked for its size
 * stays inside. What runs on our devices is grouped by `fuseGraph`, which knows more kinds of operators.
 */
export function fuseGraphLegacy(graph: Graph, options: LegacyFuserOptions = {}): void {
  const aliasDb = AliasDb.of(graph);
  new LegacyFuser(aliasDb, graph.block, options).run();
  eliminateCommonSubexpressions(graph);
  eliminateDeadWrites(graph);
  simplifySizeExpressions(graph.block, aliasDb);
  logGraph('graph_fuser', graph);
}

class LegacyFuser {
  constructor(
    private readonly aliasDb: AliasDb,
    private readonly block: Block,
    private readonly options: LegacyFuserOptions,
  ) {}

  run(): void {
    // What one node keeps from being fused may be in a group itself after the first round.
    while (this.#scan());
    this.#fuseConcats();
    for (const group of this.#groups()) simplifyInside(group.g('Subgraph'));
    replaceBroadcastingChunks(this.block, this.aliasDb);
    for (const group of this.#groups().reverse()) fuseStartingChunks(group, (values) => this.#latestFirst(values));
    for (const group of this.#groups()) removeOutputsUsedOnlyInSize(group, this.aliasDb, hasSizeOfInputs);
    for (const node of this.block.nodes()) {
      for (const inner of node.blocks) new LegacyFuser(this.aliasDb, inner, this.options).run();
    }
  }

  #groups(): Node[] {
    return [...this.block.nodes()].filter(({ kind }) => kind === 'prim::FusionGroup');
  }

  /** Goes through the block from its end; gives whether anything was fused. */
  #scan(): boolean {
    let changed = false;
    for (let node = this.block.returnNode.previous; node !== this.block.paramNode;) {
      const next = this.#scanNode(node);
      changed ||= next !== null;
      node = next ?? node.previous;
    }
    return changed;
  }

  /** Fuses one thing into a node; gives the node to look at again, or null where there was nothing to fuse. */
  #scanNode(consumer: Node): Node | null {
    if (!this.#isFusable(consumer)) return null;
    // The latest first: of `f(a, a + b)`, a could not be fused before `a + b` is.
    for (const value of this.#latestFirst(consumer.inputs)) {
      if (tryToMoveChunk(consumer, value, (node) => this.#isMap(node), this.aliasDb)) return consumer;
      const group = this.#tryFuse(consumer, value);
      if (group) return group;
    }
    return null;
  }

  #latestFirst(values: readonly Value[]): Value[] {
    const inBlock = values.filter(({ node }) => node.owningBlock === this.block);
    return inBlock.sort((a, b) => (a.node === b.node ? 0 : a.node.isAfter(b.node) ? -1 : 1));
  }

  /** Whether a node computes element by element, wherever its tensors are. */
  #isMap(node: Node): boolean {
    return node.owningBlock === this.block && (node.kind === 'prim::FusionGroup' || isSimpleMap(node));
  }

  #isFusable(node: Node): boolean {
    if (!this.#isMap(node)) return false;
    const results = node.outputs.filter((output) => output.hasUses());
    return results.every((output) => this.#isOnFusableDevice(output)) && mayChange('graph_fuser', node);
  }

  #isOnFusableDevice({ type }: Value): boolean {
    if (!(type instanceof TensorType)) return true;
    const { canFuseOn = (device) => device !== 'cpu', strict = false } = this.options;
    return type.device === undefined ? !strict : canFuseOn(type.device);
  }

  #tryFuse(consumer: Node, value: Value): Node | null {
    const { node } = value;
    if (!this.#isFusable(node) || !this.aliasDb.moveBeforeTopologicallyValid(node, consumer)) return null;
    if (argumentsOf(consumer) + argumentsOf(node) > MAX_ARGUMENTS) return null;
    const group = consumer.kind === 'prim::FusionGroup' ? consumer : createSingletonGroup(consumer, this.aliasDb);
    if (node.kind === 'prim::FusionGroup') mergeGroups(group, node, this.aliasDb);
    else moveIntoGroup(group, node, this.aliasDb);
    return group;
  }

  #fuseConcats(): void {
    for (const concat of this.block.reverseNodes()) {
      if (!isFusableConcat(concat, MAX_ARGUMENTS)) continue;
      const list = concat.input(0).node;
      const group = createFusedConcat(concat, this.aliasDb);
      let anyFused = false;
      for (let input = this.#fusableIntoConcat(group); input; input = this.#fusableIntoConcat(group)) {
        anyFused = this.#tryFuse(group, input) !== null;
        if (!anyFused) break;
      }
      if (!anyFused) {
        group.destroy();
        continue;
      }
      concat.output().replaceAllUsesWith(group.output(0));
      concat.destroy();
      if (!list.output().hasUses()) list.destroy();
    }
  }

  #fusableIntoConcat(group: Node): Value | undefined {
    return this.#latestFirst(group.inputs).find((input) => {
      if (!this.#isFusable(input.node) || isConcatOutput(input)) return false;
      if (!this.aliasDb.couldMoveBeforeTopologically(input.node, group)) return false;
      return argumentsOf(group) + argumentsOf(input.node) <= MAX_ARGUMENTS;
    });
  }
}

function argumentsOf(node: Node): number {
  return node.inputs.length + node.outputs.length;
}

/** Of concatenations the size is asked: they are outputs anyway. */
function hasSizeOfInputs(node: Node): boolean {
  return node.kind !== 'prim::FusedConcat' && node.kind !== 'prim::Constant';
}

function simplifyInside(subgraph: Graph): void {
  eliminateDeadWrites(subgraph);
  eliminateCommonSubexpressions(subgraph);
  poolConstants(subgraph);
}
