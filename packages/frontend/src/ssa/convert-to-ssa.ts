import { unifyTypes, type Block, type Graph, type Node, type Type, type Value } from '@cresset/ir';
import { isMeaningfulName } from '../emission/environment.ts';
import { transformExits } from './exit-transform.ts';

/**
 * Turns a graph with `prim::Load` and `prim::Store` of named variables, and with `break`, `continue` and `return` as nodes, into SSA form (PyTorch: ConvertToSSA).
 *
 * Variables assigned in branches and loops become outputs of these first; then the statements that leave a block get the values they carry; loop conditions
 * move into the loop's body; loads and stores go away; and last the exits are made into control flow.
 */
export function convertToSSA(graph: Graph): void {
  const { kinds } = graph;
  if (kinds.has('prim::If') || kinds.has('prim::Loop')) new ControlFlowLoadStores().run(graph.block);
  if (kinds.has('prim::Loop')) {
    new LoopContinuations(graph).run(graph.block);
    inlineLoopConditions(graph.block);
  }
  new EraseLoadStores().run(graph.block);
  transformExits(graph);
}

/** What names mean in a block and the blocks around it (PyTorch: MiniEnvironment). */
class BlockScope<T> {
  readonly next: BlockScope<T> | undefined;
  readonly #table = new Map<string, T>();

  constructor(next: BlockScope<T> | undefined) {
    this.next = next;
  }

  set(name: string, value: T): void {
    this.#table.set(name, value);
  }

  findInThisFrame(name: string): T | undefined {
    return this.#table.get(name);
  }

  find(name: string): T | undefined {
    return this.#table.get(name) ?? this.next?.find(name);
  }

  definedVariables(): readonly string[] {
    return [...this.#table.keys()].sort();
  }
}

/** Makes variables that branches and loops assign their outputs, with a store behind. */
class ControlFlowLoadStores {
  #scope: BlockScope<Type> | undefined;

  run(block: Block): BlockScope<Type> {
    const scope = new BlockScope<Type>(this.#scope);
    this.#scope = scope;
    for (const node of block.nodes()) {
      switch (node.kind) {
        case 'prim::If':
          this.#addIfLoadStores(node);
          break;
        case 'prim::Loop':
          this.#addLoopLoadStores(node);
          break;
        case 'prim::Closure':
        case 'prim::ComprehensionScope':
          node.blocks.forEach((inner) => this.run(inner));
          break;
        case 'prim::Store':
          scope.set(node.s('name'), node.input().type);
          break;
        default:
          break;
      }
    }
    this.#scope = scope.next;
    return scope;
  }

  #addIfLoadStores(node: Node): void {
    const [trueBlock, falseBlock] = node.blocks as [Block, Block];
    const trueScope = this.run(trueBlock);
    const falseScope = this.run(falseBlock);
    const names = new Set([
      ...trueScope.definedVariables().filter((name) => falseScope.find(name) !== undefined),
      ...falseScope.definedVariables().filter((name) => trueScope.find(name) !== undefined),
    ]);
    for (const name of [...names].sort()) {
      const trueType = trueScope.find(name)!;
      const falseType = falseScope.find(name)!;
      // A variable without a common type is one that nobody uses later: the emitter has seen to that.
      const unified = unifyTypes(trueType, falseType, true)!;
      addBlockOutput(trueBlock, trueType, name);
      addBlockOutput(falseBlock, falseType, name);
      addNodeOutput(node, unified, name);
    }
  }

  /** A loop may run any number of times: what it carries has the common type of before and after. */
  #addLoopLoadStores(node: Node): void {
    const body = node.blocks[0]!;
    const scope = this.run(body);
    const graph = node.owningGraph;
    for (const name of scope.definedVariables()) {
      const parentType = this.#scope?.find(name);
      if (parentType === undefined) {
        continue;
      }
      const blockType = scope.findInThisFrame(name)!;
      const type = unifyTypes(parentType, blockType)!;
      node.addInput(graph.createLoad(name, parentType).insertBefore(node).output());
      const input = body.addInput(name).setType(type);
      graph.createStore(name, input).insertAfter(body.paramNode);
      addBlockOutput(body, blockType, name);
      addNodeOutput(node, type, name);
    }
  }
}

/** The store behind the node is visited next, and tells the block's scope. */
function addNodeOutput(node: Node, type: Type, name: string): void {
  const output = node.addOutput().setType(type);
  if (isMeaningfulName(name)) {
    output.setDebugName(name);
  }
  node.owningGraph.createStore(name, output).insertAfter(node);
}

function addBlockOutput(block: Block, type: Type, name: string): void {
  const graph = block.owningGraph;
  const load = graph.withInsertPoint(block, () => graph.insertNode(graph.createLoad(name, type)));
  block.registerOutput(load.output());
}

/**
 * Turns `break` and `continue` into `prim::LoopContinuation(condition, variables…)`: the condition is false for a break, and the loop's own,
 * evaluated there, for a continue.
 */
class LoopContinuations {
  readonly #graph: Graph;
  #falseValue: Value | undefined;
  #loop: Node | undefined;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  run(block: Block): void {
    this.#falseValue = this.#graph.withInsertPoint(block.paramNode.next, () => this.#graph.insertConstant(false));
    this.#assign(block);
  }

  #assign(block: Block): void {
    for (const node of Array.from(block.nodes())) {
      switch (node.kind) {
        case 'prim::If':
          node.blocks.forEach((inner) => this.#assign(inner));
          break;
        case 'prim::Closure':
          new LoopContinuations(this.#graph).run(node.blocks[0]!);
          break;
        case 'prim::Loop': {
          const outer = this.#loop;
          this.#loop = node;
          this.#assign(node.blocks[0]!);
          this.#loop = outer;
          break;
        }
        case 'prim::ContinueStmt':
          this.#replace(node, (continuation) => this.#inlineCondition(node, continuation));
          break;
        case 'prim::BreakStmt':
          this.#replace(node, () => this.#falseValue!);
          break;
        default:
          break;
      }
    }
  }

  #replace(node: Node, condition: (continuation: Node) => Value): void {
    const continuation = this.#graph.create('prim::LoopContinuation', [], 0).insertAfter(node);
    continuation.addInput(condition(continuation));
    this.#graph.withInsertPoint(continuation, () => {
      for (const carried of this.#loop!.blocks[0]!.outputs) {
        const load = this.#graph.insertNode(this.#graph.createClone(carried.node, (value) => value));
        continuation.addInput(load.output());
      }
    });
    node.destroy();
  }

  #inlineCondition(statement: Node, continuation: Node): Value {
    const header = continuation.addBlock();
    header.cloneFrom(this.#loop!.blocks[1]!, (value) => value);
    moveNodesBefore(statement, header);
    const condition = header.outputs[0]!;
    continuation.eraseBlock(0);
    return condition;
  }
}

function moveNodesBefore(node: Node, block: Block): void {
  for (const inner of Array.from(block.nodes())) {
    inner.moveBefore(node);
  }
}

/** Evaluates the condition of a loop, its second block, before the loop and at the end of its body. */
function inlineLoopConditions(block: Block): void {
  for (const node of Array.from(block.nodes())) {
    node.blocks.forEach(inlineLoopConditions);
    if (node.kind === 'prim::Loop') {
      inlineLoopCondition(node);
    }
  }
}

function inlineLoopCondition(loop: Node): void {
  const [body, condition] = loop.blocks as [Block, Block];
  const copy = loop.addBlock();
  copy.cloneFrom(condition, (value) => value);
  moveNodesBefore(loop, copy);
  loop.insertInput(1, copy.outputs[0]!);
  loop.eraseBlock(2);
  moveNodesBefore(body.returnNode, condition);
  body.insertOutput(0, condition.outputs[0]!);
  loop.eraseBlock(1);
}

/** Puts the value stored last in the place of each load. */
class EraseLoadStores {
  #scope: BlockScope<Value> | undefined;

  run(block: Block): void {
    const scope = new BlockScope<Value>(this.#scope);
    this.#scope = scope;
    for (const node of Array.from(block.nodes())) {
      switch (node.kind) {
        case 'prim::Store':
          scope.set(node.s('name'), node.input());
          node.destroy();
          break;
        case 'prim::Load':
          node.output().replaceAllUsesWith(scope.find(node.s('name'))!);
          node.destroy();
          break;
        case 'prim::ComprehensionScope':
          this.run(node.blocks[0]!);
          moveNodesBefore(node, node.blocks[0]!);
          node.destroy();
          break;
        default:
          node.blocks.forEach((inner) => this.run(inner));
          break;
      }
    }
    this.#scope = scope.next;
  }
}
