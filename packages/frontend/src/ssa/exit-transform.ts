import {
  BoolType,
  constantValue,
  ErrorReport,
  nested,
  unifyTypes,
  type Block,
  type Graph,
  type Node,
  type Symbol,
  type Type,
  type Value,
} from '@cresset/ir';
import { withBlocksToEnterExit, enterExitToWithBlocks } from './with-blocks.ts';

/**
 * Turns the nodes that leave a block early into control flow: `prim::LoopContinuation` leaves the innermost loop's body, `prim::ReturnStmt`
 * the function or closure (PyTorch: TransformExits). What follows a node that may have left runs only where it has not.
 */
export function transformExits(graph: Graph): void {
  const { kinds } = graph;
  if (!BRANCHING.some((kind) => kinds.has(kind)) && returnAtEnd(graph.block)) return;
  const hasBlocksToLeave = kinds.has('prim::Enter');
  if (hasBlocksToLeave) enterExitToWithBlocks(graph);
  if (kinds.has('prim::Loop')) new ExitTransformer(graph, 'prim::LoopContinuation').transform(graph.block);
  new ExitTransformer(graph, 'prim::ReturnStmt').transform(graph.block);
  inlineConsecutiveIfs(graph.block);
  if (hasBlocksToLeave) withBlocksToEnterExit(graph);
}

/** Kinds without which a function goes straight on to its end. */
const BRANCHING: readonly Symbol[] = ['prim::If', 'prim::Loop', 'prim::Enter', 'prim::Closure', 'prim::RaiseException'];

/** The values of a return that is the last and only one are the block's; tells whether there is such a one. */
function returnAtEnd(block: Block): boolean {
  const last = block.returnNode.previous;
  if (last.kind !== 'prim::ReturnStmt') return false;
  for (const node of block.nodes()) if (node.kind === last.kind && node !== last) return false;
  const values = [...last.inputs];
  last.destroy();
  replaceBlockOutputs(block, values);
  return true;
}

type ExitStatus = 'will' | 'might' | 'wont' | 'throws';

/** Whether a block was left, as a value, and the values it was left with. */
interface Exit {
  readonly hasExited: Value;
  readonly values: readonly Value[];
}

class ExitTransformer {
  readonly #graph: Graph;
  readonly #exitKind: string;
  readonly #true: Value;
  readonly #false: Value;
  /** Stands for a block that always raises: never read. */
  readonly #throws: Value;
  readonly #uninitialized: [type: Type, value: Value][] = [];
  /** The block that exits of the present kind lead out of. */
  #target: Block | undefined;

  constructor(graph: Graph, exitKind: string) {
    this.#graph = graph;
    this.#exitKind = exitKind;
    [this.#true, this.#false] = graph.withInsertPoint(graph.paramNode.next, () => [
      graph.insertConstant(true),
      graph.insertConstant(false),
    ]) as [Value, Value];
    this.#throws = this.#uninitializedOf(BoolType.get());
  }

  transform(block: Block): Exit {
    const previousTarget = this.#target;
    if (this.#isTarget(block)) {
      this.#target = block;
    }
    let exit = this.#transformNodes(block, block, block.paramNode.next);
    if (this.#target === block) {
      this.#leaveAt(block, exit);
      // An exit ends at its target, and an exception may never happen: the loop may not be entered, the closure not called.
      exit = this.#wont();
    }
    this.#target = previousTarget;
    return exit;
  }

  #isTarget(block: Block): boolean {
    const owner = block.owningNode?.kind;
    return this.#exitKind === 'prim::LoopContinuation'
      ? owner === 'prim::Loop'
      : owner === undefined || owner === 'prim::Closure';
  }

  /** Transforms the nodes of `block`: those of `home` from `first` on, where they are still to be moved out of that. */
  #transformNodes(block: Block, home: Block, first: Node): Exit {
    let exit = this.#wont();
    for (let node = first; node !== home.returnNode;) {
      const following = node.next;
      exit = this.#transformNode(node) ?? exit;
      const status = this.#statusOf(exit);
      if (status === 'will' || status === 'throws') {
        this.#destroyFrom(following, home);
        return exit;
      }
      if (status === 'might') {
        return following === home.returnNode ? exit : this.#guardFrom(following, block, home, exit);
      }
      node = following;
    }
    return exit;
  }

  /** Undefined for nodes that have nothing to do with exits. */
  #transformNode(node: Node): Exit | undefined {
    switch (node.kind) {
      case 'prim::RaiseException':
        return { hasExited: this.#throws, values: [] };
      case 'prim::ReturnStmt':
      case 'prim::LoopContinuation': {
        if (node.kind !== this.#exitKind) {
          return undefined;
        }
        const exit = { hasExited: this.#true, values: [...node.inputs] };
        node.destroy();
        return exit;
      }
      case 'prim::If':
        return this.#transformIf(node);
      case 'prim::With':
        return this.transform(node.blocks[0]!);
      case 'prim::Closure':
        this.transform(node.blocks[0]!);
        return undefined;
      case 'prim::Loop':
        return this.#transformLoop(node);
      default:
        return undefined;
    }
  }

  #wont(): Exit {
    return { hasExited: this.#false, values: [] };
  }

  #statusOf({ hasExited }: Exit): ExitStatus {
    switch (hasExited) {
      case this.#true:
        return 'will';
      case this.#false:
        return 'wont';
      case this.#throws:
        return 'throws';
      default:
        return 'might';
    }
  }

  /** The block gets the values it was left with, where it was. */
  #leaveAt(block: Block, exit: Exit): void {
    const status = this.#statusOf(exit);
    if (status === 'might') {
      const node = this.#graph.create('prim::If', [exit.hasExited], 0).insertBefore(block.returnNode);
      node.addBlock();
      node.addBlock();
      addIfOutputs(node, exit.values, [...block.outputs]);
      replaceBlockOutputs(block, [...node.outputs]);
    } else if (status === 'will') {
      replaceBlockOutputs(block, exit.values);
    }
  }

  /** A loop that is left for good stops, and hands on whether and with what it was left. */
  #transformLoop(loop: Node): Exit {
    const body = loop.blocks[0]!;
    const exit = this.transform(body);
    const status = this.#statusOf(exit);
    if (status === 'wont' || status === 'throws') {
      return this.#wont();
    }
    const graph = this.#graph;
    graph.withInsertPoint(body, () => {
      const node = graph.insertNode(graph.create('prim::If', [exit.hasExited], 0));
      node.addBlock().registerOutput(this.#false);
      node.addBlock().registerOutput(body.outputs[0]!);
      body.replaceOutput(0, node.addOutput().setType(BoolType.get()));
    });
    const carry = (initial: Value, inBody: Value): Value => {
      loop.addInput(initial);
      body.addInput().setType(initial.type);
      body.registerOutput(inBody);
      return loop.addOutput().setType(initial.type);
    };
    const hasExited = carry(this.#false, exit.hasExited);
    const values = exit.values.map((value) => carry(this.#uninitializedOf(value.type), value));
    return { hasExited, values };
  }

  #transformIf(node: Node): Exit {
    const [thenBlock, elseBlock] = node.blocks as [Block, Block];
    const thenExit = this.transform(thenBlock);
    return this.#exitOfIf(node, thenExit, this.transform(elseBlock));
  }

  /** How an If is left whose branches are left so. */
  #exitOfIf(node: Node, thenExit: Exit, elseExit: Exit): Exit {
    const thenStatus = this.#statusOf(thenExit);
    const elseStatus = this.#statusOf(elseExit);
    const status = ifStatus(thenStatus, elseStatus);
    if (status === 'throws') {
      return { hasExited: this.#throws, values: [] };
    }
    if (status === 'wont') {
      return this.#wont();
    }
    // The branch that is not left has no values to leave with.
    if (thenStatus === 'wont' || thenStatus === 'throws') {
      thenExit = { hasExited: thenExit.hasExited, values: this.#uninitializedLike(elseExit.values) };
    } else if (elseStatus === 'wont' || elseStatus === 'throws') {
      elseExit = { hasExited: elseExit.hasExited, values: this.#uninitializedLike(thenExit.values) };
    }
    let hasExited = this.#true;
    if (status === 'might') {
      addIfOutputs(node, [thenExit.hasExited], [elseExit.hasExited]);
      hasExited = node.outputs.at(-1)!;
    }
    addIfOutputs(node, thenExit.values, elseExit.values);
    const count = thenExit.values.length;
    return { hasExited, values: node.outputs.slice(node.outputs.length - count) };
  }

  /**
   * Moves the nodes from `first` on into a branch that is taken where the block has not been left. They are transformed where they are
   * and move when the guards between them have taken in theirs, so that each of them moves once.
   */
  #guardFrom(first: Node, block: Block, home: Block, exit: Exit): Exit {
    const graph = this.#graph;
    const guard = graph.create('prim::If', [exit.hasExited], 0).insertBefore(first);
    const exited = guard.addBlock();
    const rest = guard.addBlock();
    const outputs = [...block.outputs];
    const merged = outputs.map((output) => {
      exited.registerOutput(this.#uninitializedOf(output.type));
      rest.registerOutput(output);
      return guard.addOutput().setType(output.type);
    });
    replaceBlockOutputs(block, merged);
    graph.create(this.#exitKind, exit.values, 0).insertBefore(exited.returnNode);
    const exitedExit = this.transform(exited);
    const restExit = nested(
      () => this.#transformNodes(rest, home, first),
      () => new ErrorReport(undefined, 'too many nested expressions or blocks'),
    );
    for (let node = guard.next; node !== home.returnNode;) {
      const following = node.next;
      node.moveBefore(rest.returnNode);
      node = following;
    }
    return this.#exitOfIf(guard, exitedExit, restExit);
  }

  /** Destroys what is never reached; where a value of it is used, nobody will read it. */
  #destroyFrom(first: Node, block: Block): void {
    for (let node = block.returnNode.previous; first !== block.returnNode;) {
      const before = node.previous;
      const isLast = node === first;
      for (const output of node.outputs) {
        if (output.hasUses()) {
          output.replaceAllUsesWith(this.#uninitializedOf(output.type));
        }
      }
      node.destroy();
      if (isLast) {
        return;
      }
      node = before;
    }
  }

  #uninitializedLike(values: readonly Value[]): readonly Value[] {
    return values.map((value) => this.#uninitializedOf(value.type));
  }

  #uninitializedOf(type: Type): Value {
    const known = this.#uninitialized.find(([other]) => other === type || other.equals(type));
    if (known !== undefined) {
      return known[1];
    }
    const value = this.#graph.createUninitialized(type).insertAfter(this.#graph.paramNode).output();
    this.#uninitialized.push([type, value]);
    return value;
  }
}

/** A branch that raises leaves the other to say how it goes on. */
function ifStatus(thenStatus: ExitStatus, elseStatus: ExitStatus): ExitStatus {
  if (thenStatus === 'throws') {
    return elseStatus;
  }
  return elseStatus === 'throws' || thenStatus === elseStatus ? thenStatus : 'might';
}

function replaceBlockOutputs(block: Block, outputs: readonly Value[]): void {
  block.removeAllOutputs();
  outputs.forEach((output) => block.registerOutput(output));
}

function addIfOutputs(node: Node, trueOutputs: readonly Value[], falseOutputs: readonly Value[]): void {
  trueOutputs.forEach((trueOutput, index) => {
    const falseOutput = falseOutputs[index]!;
    node.blocks[0]!.registerOutput(trueOutput);
    node.blocks[1]!.registerOutput(falseOutput);
    node.addOutput().setType(unifyTypes(trueOutput.type, falseOutput.type, true)!);
  });
}

/**
 * Merges an `if` with one right behind it whose condition is a constant in each branch of the first: `if x: return 1` and what
 * follows become one `if` with an else.
 */
function inlineConsecutiveIfs(block: Block): void {
  for (let node = block.paramNode.next; node !== block.returnNode;) {
    node.blocks.forEach(inlineConsecutiveIfs);
    if (!mergeWithNextIf(node)) {
      node = node.next;
    }
  }
}

function mergeWithNextIf(first: Node): boolean {
  const second = first.next;
  if (first.kind !== 'prim::If' || second.kind !== 'prim::If' || second.input(0).node !== first) {
    return false;
  }
  const { offset } = second.input(0);
  const conditions = first.blocks.map((branch) => constantValue(branch.outputs[offset]!));
  // Equal constants are left to constant propagation: merging would copy the code.
  if (conditions.some((condition) => typeof condition !== 'boolean') || conditions[0] === conditions[1]) {
    return false;
  }
  const taken = conditions.map((condition) => second.blocks[condition === true ? 0 : 1]!);
  for (const output of first.outputs) {
    for (const { user, offset } of output.uses.slice()) {
      const index = taken.findIndex((block) => liesIn(user, block));
      if (index >= 0) {
        user.replaceInput(offset, first.blocks[index]!.outputs[output.offset]!);
      }
    }
  }
  first.blocks.forEach((branch, index) => {
    for (const node of Array.from(taken[index]!.nodes())) {
      node.moveBefore(branch.returnNode);
    }
    taken[index]!.outputs.forEach((output) => branch.registerOutput(output));
  });
  for (const output of second.outputs) {
    output.replaceAllUsesWith(first.addOutput().copyMetadata(output));
  }
  second.destroy();
  return true;
}

function liesIn(node: Node, block: Block): boolean {
  for (let at: Block | undefined = node.owningBlock; at !== undefined; at = at.owningNode?.owningBlock) {
    if (at === block) {
      return true;
    }
  }
  return false;
}
