import { type Block, constantValue, type Graph, isTensorConstant, type Node, type Value } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import { eliminateDeadCode } from './dead-code-elimination.ts';

/**
 * Gives operators the form that the older fuser wants: chunks of a known number with one output each, and constant tensors without
 * dimensions as numbers (PyTorch: CanonicalizeOps).
 */
export function canonicalizeOps(graph: Graph): void {
  canonicalizeBlock(graph.block);
  eliminateDeadCode(graph);
}

const arithmetic: ReadonlySet<string> = new Set(['aten::add', 'aten::sub', 'aten::mul', 'aten::div']);

function canonicalizeBlock(block: Block): void {
  for (const node of block.nodes()) {
    for (const inner of node.blocks) canonicalizeBlock(inner);
    if (node.kind === 'aten::chunk') makeConstantChunk(node);
    else if (arithmetic.has(node.kind) && node.maybeSchema()?.overloadName === 'Tensor') replaceTensorByNumber(node);
  }
}

function replaceTensorByNumber(node: Node): void {
  const other = constantValue(node.input(1));
  if (!isTensorConstant(other) || !(other instanceof Tensor) || other.dim !== 0 || !other.storage.isOnHost) return;
  const element = other.contiguousArray()[0];
  const isWhole = other.dtype.startsWith('int') || other.dtype.startsWith('uint');
  const graph = node.owningGraph;
  graph.withInsertPoint(node, () => {
    const number = graph.insertConstant(isWhole ? BigInt(element) : Number(element));
    const made = graph.insertNode(graph.create(node.kind, [node.input(0), number, ...node.inputs.slice(2)]));
    made.copyMetadata(node).output().copyMetadata(node.output());
    node.output().replaceAllUsesWith(made.output());
  });
}

function makeConstantChunk(node: Node): void {
  const chunks = constantValue(node.input(1));
  const dim = constantValue(node.input(2));
  if (typeof chunks !== 'bigint' || typeof dim !== 'bigint') return;
  const outputs = outputsOf(node, Number(chunks));
  if (!outputs) return;
  const graph = node.owningGraph;
  const chunk = graph.create('prim::ConstantChunk', [node.input(0)], outputs.length).insertBefore(node);
  chunk.setI('chunks', chunks).setI('dim', dim);
  for (const [output, offset] of outputs) {
    output.replaceAllUsesWith(chunk.output(offset).setType(output.type));
  }
}

/** What is taken out of the list of chunks, with its place in it; null where the list is used in other ways too. */
function outputsOf(chunk: Node, chunks: number): (readonly [Value, number])[] | null {
  const outputs: (readonly [Value, number])[] = [];
  for (const { user } of chunk.output().uses) {
    if (user.kind !== 'prim::ListUnpack' || user.outputs.length !== chunks) return null;
    user.outputs.forEach((output, index) => outputs.push([output, index]));
  }
  return outputs;
}
