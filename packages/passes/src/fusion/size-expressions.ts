import { type AliasDb, type Block, type Graph, IntType, ListType, type Node, type Value } from '@cresset/ir';

/**
 * Sizes of what a group gives, computed beside it. A value that is only asked for its size need not come out of the group: its size
 * follows from those of the group's inputs.
 */

/** Whether a node asks for all sizes of a tensor. */
export function isSizeQuery(node: Node): boolean {
  return node.kind === 'aten::size' && node.inputs.length === 1;
}

/**
 * Takes outputs away from a group that are only asked for their sizes (PyTorch: removeOutputsUsedOnlyInSize). Leaves expressions behind
 * the group that nobody may use; dead code elimination takes them.
 *
 * @param broadcasts whether the size of a node's result is that of its tensor inputs, broadcast.
 */
export function removeOutputsUsedOnlyInSize(group: Node, aliasDb: AliasDb, broadcasts: (node: Node) => boolean): void {
  const subgraph = group.g('Subgraph');
  const sizeOf = new SizeExpressions(group.owningGraph, aliasDb).build(group, broadcasts);
  for (let index = group.outputs.length - 1; index >= 0; index--) {
    const output = group.output(index);
    const size = sizeOf.get(subgraph.outputs[index]);
    if (!size || !isUsedOnlyInSize(output)) continue;
    for (const { user } of Array.from(output.uses)) {
      user.output().replaceAllUsesWith(size);
      user.destroy();
    }
    group.eraseOutput(index);
    subgraph.eraseOutput(index);
  }
}

function isUsedOnlyInSize(value: Value): boolean {
  return value.uses.every(({ user }) => isSizeQuery(user));
}

class SizeExpressions {
  readonly #sizeOf = new Map<Value, Value>();

  constructor(
    private readonly graph: Graph,
    private readonly aliasDb: AliasDb,
  ) {}

  /** The sizes of the values in a group's subgraph, as values after the group (PyTorch: buildShapeExpressions). */
  build(group: Node, broadcasts: (node: Node) => boolean): ReadonlyMap<Value, Value> {
    const subgraph = group.g('Subgraph');
    return this.graph.withInsertPoint(group.next, () => {
      group.inputs.forEach((input, index) => {
        if (isTensor(input)) this.#sizeOf.set(subgraph.inputs[index], this.#insertSize(input));
      });
      // One that comes out anyway is asked, which is shorter than a chain of broadcasts.
      group.outputs.forEach((output, index) => {
        if (!isUsedOnlyInSize(output)) this.#sizeOf.set(subgraph.outputs[index], this.#insertSize(output));
      });
      for (const node of subgraph.nodes()) {
        if (node.kind === 'prim::ConstantChunk') this.#chunk(node);
        else if (broadcasts(node)) this.#broadcast(node);
      }
      return this.#sizeOf;
    });
  }

  #insertSize(value: Value): Value {
    const size = this.graph.insert('aten::size', [value]);
    this.aliasDb.createValue(size);
    return size;
  }

  #chunk(node: Node): void {
    const sizes = this.graph.insertNode(this.graph.create('prim::ChunkSizes', [this.#sizeOf.get(node.input())!], 2));
    sizes.setI('dim', node.i('dim')).setI('chunks', node.i('chunks'));
    for (const output of sizes.outputs) this.aliasDb.createValue(output.setType(new ListType(IntType.get())));
    node.outputs.forEach((output, index) =>
      this.#note(output, sizes.output(index === node.outputs.length - 1 ? 1 : 0)),
    );
  }

  #broadcast(node: Node): void {
    const sizes = node.inputs.filter(isTensor).map((input) => this.#sizeOf.get(input));
    if (sizes.length === 0 || sizes.includes(undefined)) return;
    const [first] = sizes as Value[];
    this.#note(node.output(), sizes.length === 1 ? first : insertBroadcast(sizes as Value[], this.aliasDb));
  }

  #note(value: Value, size: Value): void {
    if (!this.#sizeOf.has(value)) this.#sizeOf.set(value, size);
  }
}

function isTensor(value: Value): boolean {
  return value.type.kind === 'TensorType';
}

/** Sizes of what tensors of these sizes broadcast to, as a value at the insert point. */
export function insertBroadcast(sizes: readonly Value[], aliasDb: AliasDb): Value {
  const graph = sizes[0].owningGraph;
  const broadcast = graph.insertNode(graph.create('prim::BroadcastSizes', sizes)).output();
  aliasDb.createValue(broadcast.setType(new ListType(IntType.get())));
  return broadcast;
}

/** Simplifies broadcasts of sizes: one size, a size given twice, a broadcast of a broadcast (PyTorch: PeepholeOptimizeShapeExpressions). */
export function simplifySizeExpressions(block: Block, aliasDb: AliasDb): void {
  for (let node = block.paramNode.next; node !== block.returnNode;) {
    const { next, previous } = node;
    for (const inner of node.blocks) simplifySizeExpressions(inner, aliasDb);
    const isAgain = node.kind === 'prim::BroadcastSizes' && simplifyBroadcast(node, aliasDb);
    // One that was made of it stands in its place, and is looked at too.
    node = isAgain ? previous.next : next;
  }
}

/** Returns whether another broadcast has taken its place. */
function simplifyBroadcast(node: Node, aliasDb: AliasDb): boolean {
  const distinct = [...new Set(node.inputs)].sort((a, b) => a.unique - b.unique);
  if (distinct.length === 1) {
    node.output().replaceAllUsesWith(distinct[0]);
    node.destroy();
    return false;
  }
  if (distinct.length < node.inputs.length) {
    const merged = node.owningGraph.withInsertPoint(node, () => insertBroadcast(distinct, aliasDb));
    node.output().replaceAllUsesWith(merged);
    node.destroy();
    return true;
  }
  const [use, ...others] = node.output().uses;
  if (use?.user.kind !== 'prim::BroadcastSizes' || others.length > 0) return false;
  use.user.removeInput(use.offset);
  for (const input of node.inputs) use.user.addInput(input);
  node.destroy();
  return false;
}
