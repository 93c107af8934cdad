import type { Block, Graph, Node, Value } from '@cresset/ir';

/**
 * Makes a graph ready for a stack machine (PyTorch: PreprocessGraph in runtime/interpreter/preprocess_graph.cpp): `prim::Drop`
 * nodes give up values that nobody uses and values whose last use is inside a block.
 *
 * @returns the nodes whose value is computed where it is used, on top of the stack, and so needs no register.
 */
export function scheduleForStack(graph: Graph): ReadonlySet<Node> {
  dropUnused(graph.block);
  dropAfterLastUse(graph);
  return new InlineScan().scan(graph.block);
}

function dropUnused(block: Block): void {
  const graph = block.owningGraph;
  const dropOf = (values: readonly Value[]): Node | undefined => {
    const unused = values.filter((value) => !value.hasUses() && value.node.kind !== 'prim::Constant');
    return unused.length > 0 ? graph.create('prim::Drop', unused, 0) : undefined;
  };
  const ofInputs = dropOf(block.inputs);
  if (ofInputs) block.prependNode(ofInputs);
  for (const node of block.nodes()) {
    dropOf(node.outputs)?.insertAfter(node);
    node.blocks.forEach(dropUnused);
  }
}

/** A value that is last used in a block of a node is given up after that node: the block may run often, or never. */
function dropAfterLastUse(graph: Graph): void {
  const drops = new Map<Node, Node>();
  const seen = new Set<Value>();

  const dropAfter = (node: Node): Node => {
    let drop = drops.get(node);
    if (drop === undefined) {
      drop = graph.create('prim::Drop', [], 0).insertAfter(node);
      drops.set(node, drop);
    }
    return drop;
  };
  const scanUse = (node: Node, value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    const owner = ancestorIn(node, value.node.owningBlock);
    if (owner !== node) dropAfter(owner).addInput(value);
  };
  const scanNode = (node: Node): void => {
    node.blocks.forEach(scanBlock);
    // Backwards: where a value is used twice by one node, the later use is the last.
    for (const value of node.inputs.toReversed()) scanUse(node, value);
  };
  const scanBlock = (block: Block): void => {
    scanNode(block.returnNode);
    for (const node of [...block.nodes()].reverse()) scanNode(node);
  };
  scanBlock(graph.block);
}

/** The node of `block` that `node` is, or is inside of. */
function ancestorIn(node: Node, block: Block): Node {
  let ancestor = node;
  while (ancestor.owningBlock !== block) ancestor = ancestor.owningBlock.owningNode!;
  return ancestor;
}

/**
 * Finds the nodes that may be computed at their only use (PyTorch: CanEmitInline): those that stand, constants aside, directly
 * before their user in the order in which it takes its inputs, so that the order of execution stays as it is.
 */
class InlineScan {
  readonly #inline = new Set<Node>();

  scan(block: Block): ReadonlySet<Node> {
    this.#block(block);
    return this.#inline;
  }

  #block(block: Block): void {
    this.#node(block.returnNode);
    for (const node of [...block.nodes()].reverse()) this.#node(node);
  }

  /** Scans backwards from a node; returns the node before all that is computed as a part of it. */
  #node(node: Node): Node | undefined {
    if (this.#inline.has(node)) return undefined;
    node.blocks.forEach((block) => this.#block(block));
    let point: Node | undefined = previousNonConstant(node);
    for (const input of node.inputs.toReversed()) point = this.#value(point, input);
    return point;
  }

  #value(point: Node | undefined, { node, uses }: Value): Node | undefined {
    if (node !== point || node.kind === 'prim::Param' || uses.length !== 1 || node.outputs.length !== 1) return point;
    const before = this.#node(node);
    this.#inline.add(node);
    return before;
  }
}

function previousNonConstant(node: Node): Node {
  let previous = node.previous;
  while (previous.kind === 'prim::Constant') previous = previous.previous;
  return previous;
}
