import { AliasDb, logGraph, mayChange, type Block, type Graph, type Node, type Value } from '@cresset/ir';
import { concatenatedList, isAnchor, isFusable } from './fusable.ts';

export interface FuseOptions {
  /** Bound on tensors that a group reads and writes: a kernel can be given so many buffers. */
  readonly maxTensors?: number;
}

/**
 * Groups operators that compute one element from elements at the same place into `prim::FusionGroup` nodes, whose attribute
 * `Subgraph` holds them (PyTorch: FuseGraph). A group may begin with one operator of another kind, its anchor: a product or
 * convolution whose result the others only change element by element, or end with a concatenation, into whose result each
 * part is then written where it belongs. A group stands where its last operator stood.
 */
export function fuseGraph(graph: Graph, { maxTensors = 8 }: FuseOptions = {}): boolean {
  // Nothing is changed until all is planned.
  const aliases = AliasDb.lazily(graph);
  const blocks = [graph.block];
  for (const node of graph.allNodes()) blocks.push(...node.blocks);
  const planned = blocks.flatMap((block) => new BlockFuser(block, aliases, maxTensors).plan());
  for (const group of planned) if (mayChange('graph_fuser', group.at(-1)!)) makeGroup(group);
  logGraph('graph_fuser', graph);
  return planned.length > 0;
}

/** Operators to be fused, in the order of the block. */
type Group = readonly Node[];

class BlockFuser {
  /** The group of each node that has one already. */
  readonly #groupOf = new Map<Node, Set<Node>>();

  constructor(
    private readonly block: Block,
    private readonly aliases: AliasDb,
    private readonly maxTensors: number,
  ) {}

  /** From the last node up, each one draws the makers of its inputs into its group. */
  plan(): Group[] {
    const groups: Group[] = [];
    for (const node of this.block.reverseNodes()) {
      if (this.#groupOf.has(node)) continue;
      const list = concatenatedList(node);
      if (!list && !isFusable(node)) continue;
      const group = new Set(list ? [list, node] : [node]);
      for (const member of group) this.#groupOf.set(member, group);
      this.#grow(group, node);
      if (group.size > (list ? 2 : 1)) groups.push([...group].sort((a, b) => (a.isBefore(b) ? -1 : 1)));
    }
    return groups;
  }

  #grow(group: Set<Node>, last: Node): void {
    let grown = true;
    while (grown) {
      grown = false;
      for (const candidate of this.#candidates(group)) {
        if (!this.#mayJoin(candidate, group, last)) continue;
        group.add(candidate);
        this.#groupOf.set(candidate, group);
        grown = true;
        break;
      }
    }
  }

  /** Makers of the group's inputs, the latest first: an earlier one may only fit when those between are in. */
  #candidates(group: ReadonlySet<Node>): Node[] {
    const found = new Set<Node>();
    for (const member of group) {
      if (!isFusable(member) && member.kind !== 'prim::ListConstruct') continue;
      for (const { node } of member.inputs) {
        if (node.kind.startsWith('prim::') || node.owningBlock !== this.block) continue;
        if (group.has(node) || this.#groupOf.has(node)) continue;
        if (isFusable(node) || isAnchor(node)) found.add(node);
      }
    }
    return [...found].sort((a, b) => (a.isBefore(b) ? 1 : -1));
  }

  /** Whether `node` may be run as late as `last`, and the group stays within bounds with it. */
  #mayJoin(node: Node, group: ReadonlySet<Node>, last: Node): boolean {
    const usesFit = node.outputs.every((output) =>
      output.uses.every(({ user }) => group.has(user) || this.#atLevel(user).isAfter(last)),
    );
    if (!usesFit || !this.aliases.mayWaitUntil(node, last) || !anchorFits(node, group)) return false;
    return tensorCount(new Set([...group, node])) <= this.maxTensors;
  }

  /** The ancestor of a node, or itself, in this block. */
  #atLevel(node: Node): Node {
    let ancestor = node;
    while (ancestor.owningBlock !== this.block) ancestor = ancestor.owningBlock.owningNode!;
    return ancestor;
  }
}

/** A group has one anchor, which is computed first: it uses no other member, and members are all that use it. One that ends
 * with a concatenation has none. */
function anchorFits(node: Node, group: ReadonlySet<Node>): boolean {
  const anchor = [...group].find((member) => !isFusable(member) && !isTail(member, group));
  if (isFusable(node)) return !anchor?.inputs.some((input) => input.node === node);
  if (
    anchor ||
    [...group].some((member) => isTail(member, group)) ||
    node.inputs.some((input) => group.has(input.node))
  )
    return false;
  return node.output().uses.every(({ user }) => group.has(user));
}

/** Whether a member is the group's concatenation, or the list of that. */
function isTail(member: Node, group: ReadonlySet<Node>): boolean {
  return member.kind === 'prim::ListConstruct' || (member.kind === 'aten::cat' && group.has(member.input(0).node));
}

function tensorCount(members: ReadonlySet<Node>): number {
  const tensors = new Set<Value>();
  for (const node of members) {
    for (const input of node.inputs) if (isTensor(input) && !members.has(input.node)) tensors.add(input);
    for (const output of node.outputs) if (output.uses.some(({ user }) => !members.has(user))) tensors.add(output);
  }
  return tensors.size;
}

function isTensor(value: Value): boolean {
  return value.type.kind === 'TensorType' || (value.type.kind === 'OptionalType' && !value.mustBeNone());
}

/** Moves the nodes into the subgraph of a new `prim::FusionGroup`; constants go along. */
function makeGroup(nodes: Group): Node {
  const last = nodes[nodes.length - 1];
  const members = new Set(nodes);
  const outer = last.owningGraph;
  const group = outer.createWithSubgraph('prim::FusionGroup').insertBefore(last).copyMetadata(last);
  const subgraph = group.g('Subgraph');
  const copies = new Map<Value, Value>();

  const inside = (value: Value): Value => {
    const known = copies.get(value);
    if (known) return known;
    if (value.node.kind === 'prim::Constant') {
      const constant = subgraph.prependNode(subgraph.createClone(value.node, (unmapped) => unmapped)).output();
      copies.set(value, constant);
      return constant;
    }
    group.addInput(value);
    const input = subgraph.addInput().setType(value.type);
    copies.set(value, input);
    return input;
  };

  for (const node of nodes) {
    // Constants are put in front while the clone is made, so the clone itself goes to the end.
    const copy = subgraph.appendNode(subgraph.createClone(node, inside));
    node.outputs.forEach((output, index) => copies.set(output, copy.output(index)));
  }
  for (const node of nodes) {
    for (const output of node.outputs) {
      if (!output.uses.some(({ user }) => !members.has(user))) continue;
      subgraph.registerOutput(copies.get(output)!);
      output.replaceAllUsesWith(group.addOutput().copyMetadata(output));
    }
  }
  for (const node of [...nodes].reverse()) node.destroy();
  return group;
}
