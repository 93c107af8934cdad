import type { Block, Graph, Node, Use, Value } from '@cresset/ir';

/**
 * A copy whose values are numbered in the order of the text (PyTorch: Canonicalize).
 *
 * @param keepNames keeps the names of values that have one
 */
export function canonicalize(graph: Graph, keepNames = true): Graph {
  const copy = graph.copy();
  if (!keepNames) forgetNames(copy.block);
  return copy;
}

function forgetNames(block: Block): void {
  block.inputs.forEach((input) => input.setDebugName(''));
  for (const node of block.nodes()) {
    node.outputs.forEach((output) => output.setDebugName(''));
    node.blocks.forEach(forgetNames);
    for (const name of node.attributeNames) {
      const entry = node.attribute(name);
      if (entry.kind === 'g') forgetNames(entry.value.block);
      else if (entry.kind === 'gs') entry.value.forEach((inner) => forgetNames(inner.block));
    }
  }
}

/**
 * Orders the outputs of Ifs and Loops by where they are first used, so that equal programs have equal text (PyTorch:
 * CanonicalizeOutputs).
 */
export function canonicalizeOutputs(graph: Graph): void {
  if (graph.kinds.has('prim::If') || graph.kinds.has('prim::Loop')) canonicalizeBlockOutputs(graph.block);
}

function canonicalizeBlockOutputs(block: Block): void {
  for (const node of block.reverseNodes()) {
    if (node.kind === 'prim::Loop') canonicalizeLoopOutputs(node);
    else if (node.kind === 'prim::If') canonicalizeIfOutputs(node);
    for (const inner of node.blocks) canonicalizeBlockOutputs(inner);
  }
}

function canonicalizeLoopOutputs(node: Node): void {
  const order = orderByFirstUse(node.outputs);
  node.permuteOutputs(order);
  const [body] = node.blocks;
  const after = (fixed: number): number[] => [
    ...Array.from({ length: fixed }, (_, i) => i),
    ...order.map((i) => i + fixed),
  ];
  node.permuteInputs(after(2));
  body.permuteOutputs(after(1));
  body.permuteInputs(after(1));
}

function canonicalizeIfOutputs(node: Node): void {
  const order = orderByFirstUse(node.outputs);
  node.permuteOutputs(order);
  for (const block of node.blocks) block.permuteOutputs(order);
}

function orderByFirstUse(values: readonly Value[]): number[] {
  const firstUses = values.map(firstUseOf);
  return values
    .map((_, index) => index)
    .sort((a, b) => {
      const first = firstUses[a];
      const second = firstUses[b];
      if (!first || !second) return Number(!first) - Number(!second) || a - b;
      return isBefore(first, second) ? -1 : 1;
    });
}

function firstUseOf(value: Value): Use | null {
  return value.uses.reduce<Use | null>((first, use) => (first && !isBefore(use, first) ? first : use), null);
}

/** A use by a node that contains the other's user counts as before it (PyTorch: isBefore in canonicalize.cpp). */
function isBefore(a: Use, b: Use): boolean {
  if (a.user === b.user) return a.offset < b.offset;
  return isNodeBefore(a.user, b.user);
}

function isNodeBefore(a: Node, b: Node): boolean {
  let left = a;
  let right = b;
  while (left.depth > right.depth) {
    left = ownerOf(left);
    if (left === right) return false;
  }
  while (right.depth > left.depth) {
    right = ownerOf(right);
    if (left === right) return true;
  }
  // Climb until both stand in one block, or in two blocks of one node, of which the earlier block counts as before.
  while (left.owningBlock !== right.owningBlock) {
    const leftOwner = ownerOf(left);
    const rightOwner = ownerOf(right);
    if (leftOwner === rightOwner) {
      return leftOwner.blocks.indexOf(left.owningBlock) < leftOwner.blocks.indexOf(right.owningBlock);
    }
    left = leftOwner;
    right = rightOwner;
  }
  return left.isBefore(right);
}

function ownerOf(node: Node): Node {
  return node.owningBlock.owningNode!;
}
