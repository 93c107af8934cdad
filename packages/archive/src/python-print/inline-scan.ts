import type { Block, Node, Value } from '@cresset/ir';

const RUNS_LATER: ReadonlySet<string> = new Set([
  'prim::fork',
  'prim::rpc_async',
  'prim::rpc_sync',
  'prim::rpc_remote',
]);

/**
 * Finds the nodes that are printed as part of the expression that uses them, and not as a statement of their own: constants, and
 * unnamed values that are used once, if reading the expression back computes everything in the order it had.
 *
 * The frontend emits operands from left to right and then the operation. So, going backwards, the node before an operation must
 * be its last operand, the one before that (with its own operands) the last but one, and so on; where that stops being so, the
 * rest needs names (PyTorch: PythonPrintImpl::scanBlock).
 */
export class InlineScan {
  readonly #inlined = new Set<Node>();

  has(node: Node): boolean {
    return this.#inlined.has(node);
  }

  block(block: Block): void {
    this.#statement(block.returnNode);
    for (const node of block.reverseNodes()) if (!this.#inlined.has(node)) this.#statement(node);
  }

  /** Finds what is part of the expression of `root`. Expressions may be nested deeper than functions can call themselves. */
  #statement(root: Node): void {
    for (const block of root.blocks) this.block(block);
    const open = [new OpenNode(root)];
    for (let top = open[0]; ;) {
      const value = top.node.inputs[top.index];
      if (value === undefined) {
        open.pop();
        const outer = open.at(-1);
        if (outer === undefined) return;
        this.#inlined.add(top.node);
        outer.point = top.point;
        outer.index--;
        top = outer;
      } else if (value.node === top.point && canInline(value)) {
        top = new OpenNode(value.node);
        open.push(top);
      } else {
        // Reading the text back makes equal constants one, wherever they stand.
        if (value.node.kind === 'prim::Constant') this.#inlined.add(value.node);
        top.index--;
      }
    }
  }
}

/** A node whose operands are being looked at, from the last to the first. */
class OpenNode {
  readonly node: Node;
  /** Which operand comes next. */
  index: number;
  /** What going backwards has come to: the next operand is part of the expression if it is this node's output. */
  point: Node;

  constructor(node: Node) {
    this.node = node;
    this.index = node.inputs.length - 1;
    this.point = previousNonConstant(node);
  }
}

function previousNonConstant(node: Node): Node {
  let previous = node.previous;
  while (previous.kind === 'prim::Constant') previous = previous.previous;
  return previous;
}

/** Whether a value may stand without a name, apart from the order of evaluation. */
function canInline(value: Value): boolean {
  const { node, uses } = value;
  if (node.outputs.length !== 1 || node.blocks.length > 0 || uses.length !== 1) return false;
  const [{ user, offset }] = uses;
  // A named value was a variable, and stays one unless all that happens to it is that it is returned.
  if (value.hasDebugName() && user.kind !== 'prim::Return') return false;
  // What a loop starts from is computed before its condition and count.
  if (user.kind === 'prim::Loop' && offset >= 2) return false;
  if (RUNS_LATER.has(user.kind)) return false;
  // In the condition of an If it would refine types when read back; the casts that come of that are there already.
  return node.kind !== 'prim::isinstance';
}
