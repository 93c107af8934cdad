import type { Block, Graph, Node, Value } from '@cresset/ir';

/**
 * For each node the values that nobody needs once it has run (the interpreter's FindLastUses). A value that is last used
 * within a block of a node of its own level counts for that node, since the block may run again; one that is never used,
 * for the node that makes it.
 */
export interface LastUses {
  /** Values to give up when `node` is done. */
  after(node: Node): readonly Value[];
  /** Values that only `node`'s own inputs use last, none of its blocks: what a loop is given to start with. */
  ofInputs(node: Node): readonly Value[];
}

export function findLastUses(graph: Graph): LastUses {
  const seen = new Set<Value>();
  const after = new Map<Node, Value[]>();
  const ofInputs = new Map<Node, Value[]>();
  const append = (to: Map<Node, Value[]>, node: Node, value: Value): void => {
    const list = to.get(node);
    if (list) list.push(value);
    else to.set(node, [value]);
  };

  const visitInputs = (node: Node): void => {
    for (const input of node.inputs) {
      if (seen.has(input)) continue;
      seen.add(input);
      const owner = ancestorInBlock(node, input.node.owningBlock);
      if (owner === node) append(ofInputs, node, input);
      append(after, owner, input);
    }
  };
  const visit = (block: Block): void => {
    visitInputs(block.returnNode);
    for (const node of block.reverseNodes()) {
      for (const output of node.outputs) {
        if (!seen.has(output)) append(after, node, output);
      }
      for (const inner of node.blocks) visit(inner);
      visitInputs(node);
    }
  };
  visit(graph.block);
  return { after: (node) => after.get(node) ?? [], ofInputs: (node) => ofInputs.get(node) ?? [] };
}

function ancestorInBlock(node: Node, block: Block): Node {
  let ancestor = node;
  while (ancestor.owningBlock !== block) {
    const owner: Node | undefined = ancestor.owningBlock.owningNode;
    if (!owner) throw new Error('a value is used outside the block that defines it');
    ancestor = owner;
  }
  return ancestor;
}
