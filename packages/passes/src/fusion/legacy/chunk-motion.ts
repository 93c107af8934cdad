import { type AliasDb, type Block, type Node, TensorType, type Value } from '@cresset/ir';
import { insertBroadcast, isSizeQuery } from '../size-expressions.ts';
import { mergeNodeIntoGroup } from './fused-groups.ts';

/**
 * How groups get past chunks. A chunk between a group and a pointwise operator is moved up: the operator's inputs are chunked and the
 * operator works on each chunk. Since the inputs may have to be broadcast first, `prim::BroadcastingChunk` stands for both until the end.
 */

const isTensor = (value: Value): boolean => value.type instanceof TensorType;

/** Moves the maker of what is chunked behind the chunk, where it can be fused into `consumer` then (PyTorch: tryToMoveChunk). */
export function tryToMoveChunk(
  consumer: Node,
  value: Value,
  isFusable: (node: Node) => boolean,
  aliasDb: AliasDb,
): boolean {
  const chunk = value.node;
  if (chunk.kind !== 'prim::ConstantChunk' && chunk.kind !== 'prim::BroadcastingChunk') return false;
  const chunked = chunk.inputs.find((input) => isFusable(input.node) && isUsedOnlyBy(chunk, input.node));
  if (!chunked || chunk.outputs.some(({ uses }) => uses.some(({ user }) => user !== consumer))) return false;
  new ChunkMover(chunk.kind === 'prim::ConstantChunk' ? toBroadcastingChunk(chunk, aliasDb) : chunk, aliasDb).move(
    chunked,
  );
  return true;
}

/** Whether what a node gives is used by `user` alone, and otherwise only asked for its size. */
function isUsedOnlyBy(user: Node, node: Node): boolean {
  return node.outputs.every(({ uses }) => uses.every((use) => use.user === user || isSizeQuery(use.user)));
}

function toBroadcastingChunk(chunk: Node, aliasDb: AliasDb): Node {
  const made = chunk.owningGraph.create('prim::BroadcastingChunk', [chunk.input()], chunk.outputs.length);
  made.copyAttributes(chunk).copyMetadata(chunk).insertAfter(chunk);
  chunk.outputs.forEach((output, index) => replaceOutput(output, made.output(index), aliasDb));
  chunk.destroy();
  return made;
}

function replaceOutput(output: Value, replacement: Value, aliasDb: AliasDb): void {
  replacement.copyMetadata(output);
  aliasDb.replaceWithNewValue(output, replacement);
  output.replaceAllUsesWith(replacement);
}

class ChunkMover {
  readonly #chunks: number;

  constructor(
    private readonly chunk: Node,
    private readonly aliasDb: AliasDb,
  ) {
    this.#chunks = Number(chunk.i('chunks'));
  }

  move(chunked: Value): void {
    const index = this.chunk.inputs.indexOf(chunked);
    const { node } = chunked;
    const outputs = this.#chunksOf(index);
    const operands = node.inputs.map((input) => (isTensor(input) ? this.#chunkInput(input, outputs) : null));
    const graph = node.owningGraph;
    graph.withInsertPoint(this.chunk.next, () => {
      outputs.forEach((output, at) => {
        const inputs = node.inputs.map((input, position) => operands[position]?.[at] ?? input);
        const part = graph.insertNode(graph.create(node.kind, inputs).copyAttributes(node).copyMetadata(node));
        replaceOutput(output, part.output(), this.aliasDb);
      });
    });
    this.chunk.removeInput(index);
    for (let count = 0; count < this.#chunks; count++) this.chunk.eraseOutput(this.#chunks * index);
    this.#replaceSizeQueries(node);
    node.destroy();
  }

  #chunksOf(index: number): readonly Value[] {
    return this.chunk.outputs.slice(this.#chunks * index, this.#chunks * (index + 1));
  }

  /** The chunks of a value, which becomes an input where it is none. */
  #chunkInput(input: Value, like: readonly Value[]): readonly Value[] {
    const known = this.chunk.inputs.indexOf(input);
    if (known !== -1) return this.#chunksOf(known);
    this.chunk.addInput(input);
    return like.map(({ type }) => {
      const output = this.chunk.addOutput().setType(type);
      this.aliasDb.createValue(output);
      return output;
    });
  }

  /** The size of what is no longer made is that of its inputs, broadcast. */
  #replaceSizeQueries(node: Node): void {
    const queries = node.output().uses;
    if (queries.length === 0) return;
    const graph = node.owningGraph;
    const size = graph.withInsertPoint(node, () => {
      const sizes = node.inputs.filter(isTensor).map((input) => {
        const inserted = graph.insert('aten::size', [input]);
        this.aliasDb.createValue(inserted);
        return inserted;
      });
      return sizes.length === 1 ? sizes[0] : insertBroadcast(sizes, this.aliasDb);
    });
    for (const { user } of Array.from(queries)) {
      user.output().replaceAllUsesWith(size);
      user.destroy();
    }
  }
}

/** Puts broadcasts and chunks in the place of the nodes that stood for both (PyTorch: replaceIntermediateBroadcastingChunks). */
export function replaceBroadcastingChunks(block: Block, aliasDb: AliasDb): void {
  for (const node of block.reverseNodes()) {
    if (node.kind !== 'prim::BroadcastingChunk') continue;
    const graph = node.owningGraph;
    const tensors = graph.withInsertPoint(node, () => {
      const list = graph.insertNode(graph.createList(TensorType.get(), node.inputs)).output();
      const broadcast = graph.insert('aten::broadcast_tensors', [list]);
      const unpacked = graph.insertNode(graph.create('prim::ListUnpack', [broadcast], node.inputs.length)).outputs;
      for (const value of [list, broadcast, ...unpacked]) aliasDb.createValue(value);
      return unpacked;
    });
    const count = node.outputs.length / node.inputs.length;
    graph.withInsertPoint(node.next, () => {
      tensors.forEach((tensor, index) => {
        const chunk = graph.insertNode(graph.create('prim::ConstantChunk', [tensor], count).copyAttributes(node));
        chunk.outputs.forEach((output, at) => replaceOutput(node.output(index * count + at), output, aliasDb));
      });
    });
    node.destroy();
  }
}

/**
 * Moves chunks of a group's inputs into the group (PyTorch: scanNodeForChunks). A chunk there chunks an input of the group, and no two
 * chunk the same.
 */
export function fuseStartingChunks(group: Node, sorted: (values: readonly Value[]) => readonly Value[]): void {
  for (;;) {
    const chunked = sorted(group.inputs).find(({ node }) => canFuseChunk(group, node));
    if (!chunked) return;
    const chunk = chunked.node;
    const existing = findFusedChunk(group, chunk.input());
    if (!existing) {
      mergeNodeIntoGroup(group, chunk);
    } else if (existing.outputs.length === chunk.outputs.length) {
      reuseFusedChunk(group, chunk, existing);
    } else {
      return;
    }
    chunk.destroy();
  }
}

function canFuseChunk(group: Node, chunk: Node): boolean {
  if (chunk.kind !== 'prim::ConstantChunk' || chunk.i('chunks') === 1n) return false;
  return chunk.outputs.every(({ uses }) => uses.every(({ user }) => user === group));
}

function findFusedChunk(group: Node, input: Value): Node | undefined {
  const index = group.inputs.indexOf(input);
  const user = index === -1 ? undefined : group.g('Subgraph').inputs[index].uses[0]?.user;
  return user?.kind === 'prim::ConstantChunk' ? user : undefined;
}

function reuseFusedChunk(group: Node, chunk: Node, existing: Node): void {
  const subgraph = group.g('Subgraph');
  chunk.outputs.forEach((output, index) => {
    const at = group.inputs.indexOf(output);
    if (at === -1) return;
    subgraph.inputs[at].replaceAllUsesWith(existing.output(index));
    group.removeInput(at);
    subgraph.eraseInput(at);
  });
}
