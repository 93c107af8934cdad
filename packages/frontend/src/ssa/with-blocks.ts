import { invariant, type Graph, type Node } from '@cresset/ir';

/**
 * Wraps what stands between each `prim::Enter` and its `prim::Exit` in the first block of a `prim::With`, and the exit in the
 * second: so that leaving the body early does not skip it.
 */
export function enterExitToWithBlocks(graph: Graph): void {
  const entered: Node[] = [];
  const pairs: (readonly [enter: Node, exit: Node])[] = [];
  for (const node of graph.allNodes()) {
    if (node.kind === 'prim::Enter') {
      entered.push(node);
    } else if (node.kind === 'prim::Exit') {
      const enter = entered.pop();
      invariant(enter?.input(0) === node.input(0), 'a prim::Exit does not belong to the innermost prim::Enter');
      pairs.push([enter!, node]);
    }
  }
  // Innermost pairs come first.
  for (const [enter, exit] of pairs) {
    const node = graph.create('prim::With', [], 0);
    const body = node.addBlock();
    const exitBlock = node.addBlock();
    for (let inner = enter.next; inner !== exit;) {
      const following = inner.next;
      inner.moveBefore(body.returnNode);
      inner = following;
    }
    exit.moveBefore(exitBlock.returnNode);
    node.insertAfter(enter);
  }
}

/** Takes the blocks of every `prim::With` out again. */
export function withBlocksToEnterExit(graph: Graph): void {
  const nodes = [...graph.allNodes()].filter((node) => node.kind === 'prim::With');
  for (const node of nodes) {
    for (const block of node.blocks) {
      for (const inner of Array.from(block.nodes())) {
        inner.moveBefore(node);
      }
    }
    node.destroy();
  }
}
