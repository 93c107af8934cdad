import { IntType, TensorType, type Block, type Graph, type Node, type Value } from '@cresset/ir';
import { eliminateCommonSubexpressions } from '../cleanup/common-subexpression-elimination.ts';
import { eliminateDeadCodeInBlock } from '../cleanup/dead-code-elimination.ts';
import { type Reverse } from './reverse-block.ts';

/** Makes a reverse use fewer values of its graph, before those are captured (PyTorch: Optimize in autodiff.cpp). */
export function reduceCaptures(graph: Graph, reverse: Reverse): void {
  liftConstantsOf(reverse.block, reverse.block);
  foldSizeComparisons(reverse.block);
  // Formulas ask for the same sizes again and again.
  eliminateCommonSubexpressions(graph);
  deduplicateSizeCaptures(graph, reverse);
  eliminateDeadGradients(reverse);
}

/** Values of a graph that its reverse uses, in the order in which they are made (PyTorch: getReverseCaptures). */
export function reverseCaptures(graph: Graph): readonly Value[] {
  const values = [...graph.inputs, ...[...graph.nodes()].flatMap((node) => node.outputs)];
  return values.filter((value) => value.uses.some(({ user }) => user.owningBlock !== graph.block));
}

/** Constants are copied to the beginning of the reverse, one for each use: they cost less there than a capture. */
function liftConstantsOf(block: Block, reverse: Block): void {
  for (const node of [...block.nodes(), block.returnNode]) {
    // As it is now: what is replaced is replaced wherever the node has it.
    for (const input of node.inputs) {
      if (input.node.kind !== 'prim::Constant' || isWithin(input.node, reverse)) continue;
      const lifted = reverse.prependNode(node.owningGraph.createClone(input.node, (value) => value));
      node.replaceInputWith(input, lifted.output());
    }
    for (const inner of node.blocks) liftConstantsOf(inner, reverse);
  }
}

function isWithin(node: Node, block: Block): boolean {
  for (let owner: Block | undefined = node.owningBlock; owner; owner = owner.owningNode?.owningBlock) {
    if (owner === block) return true;
    // The reverse's own node is in no block.
    if (owner.owningNode?.inBlockList === false) return false;
  }
  return false;
}

/** What `aten::_size_if_not_equal` gives is a constant where the sizes are known. */
function foldSizeComparisons(block: Block): void {
  for (const node of [...block.nodes(), block.returnNode]) {
    for (const input of node.inputs) {
      if (input.node.kind !== 'aten::_size_if_not_equal') continue;
      const [sizes, results] = input.node.inputs.map((compared) => sizesAskedFor(compared.node));
      if (!sizes || !results) continue;
      const isEqual = sizes.length === results.length && sizes.every((size, axis) => size === results[axis]);
      const folded = isEqual ? null : { elementType: IntType.get(), items: sizes.map(BigInt) };
      node.replaceInputWith(
        input,
        node.owningGraph.withInsertPoint(node, () => node.owningGraph.insertConstant(folded)),
      );
    }
    for (const inner of node.blocks) foldSizeComparisons(inner);
  }
}

function sizesAskedFor(size: Node): readonly number[] | undefined {
  const type = size.kind === 'aten::size' ? size.input(0).type : undefined;
  return type instanceof TensorType ? type.concreteSizes : undefined;
}

/** Sizes of tensors that are captured anyway are asked for again in the reverse. */
function deduplicateSizeCaptures(graph: Graph, { block }: Reverse): void {
  const captures = reverseCaptures(graph);
  for (const capture of captures) {
    const { node } = capture;
    if (node.kind !== 'aten::size' || node.inputs.length !== 1) continue;
    const isOnlyForReverse = capture.uses.every(({ user }) => user.owningBlock !== graph.block);
    if (!isOnlyForReverse || !captures.includes(node.input(0))) continue;
    const place = block.paramNode.next;
    const size = graph.withInsertPoint(place, () => graph.insert('aten::size', [node.input(0)]));
    capture.replaceAllUsesWith(size);
    node.destroy();
  }
}

/**
 * Gradients are written for all inputs of a node where one is needed, and for temporaries that turn out to need none. Forgets those that
 * nothing uses.
 */
function eliminateDeadGradients({ block, gradients }: Reverse): void {
  eliminateDeadCodeInBlock(block);
  for (const [value, gradient] of gradients) if (!gradient.hasUses()) gradients.delete(value);
}
