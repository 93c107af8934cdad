import {
  AliasDb,
  constantValue,
  logGraph,
  mayChange,
  tryInsertConstant,
  type Block,
  type Graph,
  type Node,
} from '@cresset/ir';
import { eliminateDeadWrites } from './dead-code-elimination.ts';
import { nodeKey } from './node-key.ts';
import { involvesMutable } from '../mutation/mutable-type.ts';

/**
 * Runs a node on constant inputs; gives its outputs, or null where it cannot be run now (no kernel, an error, data that is
 * not on the host).
 */
export type ConstantEvaluator = (node: Node, inputs: readonly unknown[]) => readonly unknown[] | null;

export interface ConstantPropagationOptions {
  /**
   * Leaves everything alone that involves values that could be changed in place; then successive runs change nothing. Questions about
   * autocast stay too: PyTorch answers them at each run.
   */
  readonly immutableTypesOnly?: boolean;
}

/** Runs what depends on constants only, and the Ifs and Loops that they decide (PyTorch: ConstantPropagation). */
export function propagateConstants(
  graph: Graph,
  evaluate: ConstantEvaluator,
  { immutableTypesOnly = false }: ConstantPropagationOptions = {},
): boolean {
  const changed = new ConstantPropagator(graph, evaluate, immutableTypesOnly).run();
  if (changed) eliminateDeadWrites(graph);
  logGraph(LOG, graph);
  return changed;
}

/** How the log calls this file. */
const LOG = 'constant_propagation';

/** Kinds that are constants already, or whose value must not be fixed. */
const skippedKinds: ReadonlySet<string> = new Set([
  'prim::If',
  'prim::Loop',
  'prim::Closure',
  'prim::Constant',
  'prim::AutogradZero',
  'prim::Uninitialized',
  'prim::Guard',
  'prim::profile',
  'prim::profile_ivalue',
  'prim::unchecked_unwrap_optional',
  'prim::awaitable',
  'aten::dequantize',
]);

class ConstantPropagator {
  readonly #aliasDb: AliasDb;
  #changed = false;

  constructor(
    private readonly graph: Graph,
    private readonly evaluate: ConstantEvaluator,
    private readonly immutableTypesOnly: boolean,
  ) {
    this.#aliasDb = AliasDb.lazily(graph);
  }

  run(): boolean {
    this.#propagateBlock(this.graph.block);
    return this.#changed;
  }

  #propagateBlock(block: Block): void {
    for (const node of block.nodes()) if (node.kind !== 'prim::Constant') this.#propagate(node);
  }

  #propagate(node: Node): void {
    const constantInputs = node.inputs.every((input) => input.node.kind === 'prim::Constant');
    if (node.kind === 'prim::If') {
      if (constantInputs && mayChange(LOG, node)) this.#inlineIf(node);
      else {
        for (const block of node.blocks) this.#propagateBlock(block);
        this.#removeExtraIfOutputs(node);
      }
    } else if (node.kind === 'prim::Loop') {
      if (loopWillNotRun(node) && mayChange(LOG, node)) this.#removeLoop(node);
      else {
        for (const block of node.blocks) this.#propagateBlock(block);
        this.#removeExtraLoopOutputs(node);
      }
    } else if (constantInputs && this.#isSupported(node)) {
      this.#runNode(node);
    } else {
      for (const block of node.blocks) this.#propagateBlock(block);
    }
  }

  #isSupported(node: Node): boolean {
    if (node.blocks.length > 0 || skippedKinds.has(node.kind)) return false;
    if (node.hasSideEffects() || node.isNondeterministic() || node.maybeSchema()?.isVararg === true) return false;
    if (this.immutableTypesOnly) {
      if (node.kind.startsWith('aten::is_autocast')) return false;
      return !involvesMutable(node);
    }
    return !involvesMutable(node) || !this.#aliasDb.hasWriters(node);
  }

  #runNode(node: Node): void {
    const inputs = node.inputs.map((input) => constantValue(input));
    if (inputs.includes(undefined)) return;
    const results = this.evaluate(node, inputs);
    if (!results || !mayChange(LOG, node)) return;
    node.outputs.forEach((output, index) => {
      const constant = this.graph.withInsertPoint(node, () => tryInsertConstant(this.graph, results[index]));
      if (!constant) return;
      // None as the value of an Optional keeps the type that its users were matched to.
      if (results[index] === null) constant.setType(output.type);
      constant.node.copyMetadata(node);
      output.replaceAllUsesWith(constant);
      this.#changed = true;
    });
  }

  /** Puts the branch that is taken in the If's place. */
  #inlineIf(node: Node): void {
    const taken = node.blocks[constantValue(node.input(0)) === true ? 0 : 1];
    this.#propagateBlock(taken);
    inlineBlockBefore(node, taken);
    this.#changed = true;
  }

  #removeLoop(node: Node): void {
    node.outputs.forEach((output, index) => output.replaceAllUsesWith(node.input(index + 2)));
    node.destroy();
    this.#changed = true;
  }

  /** Outputs that are the same value, or the same constant, in both branches. */
  #removeExtraIfOutputs(node: Node): void {
    const [whenTrue, whenFalse] = node.blocks;
    for (let index = node.outputs.length - 1; index >= 0; index--) {
      const replacement = this.#commonValue(node, whenTrue, whenFalse, index);
      if (!replacement) continue;
      node.output(index).replaceAllUsesWith(replacement);
      node.eraseOutput(index);
      whenTrue.eraseOutput(index);
      whenFalse.eraseOutput(index);
      this.#changed = true;
    }
  }

  #commonValue(node: Node, whenTrue: Block, whenFalse: Block, index: number) {
    const first = whenTrue.outputs[index];
    const second = whenFalse.outputs[index];
    if (first === second && first.node.owningBlock !== whenTrue) return first;
    const value = constantValue(first);
    if (value === undefined || second.node.kind !== 'prim::Constant') return null;
    if (nodeKey(first.node) !== nodeKey(second.node)) return null;
    return this.graph.withInsertPoint(node, () => this.graph.insertConstant(value));
  }

  /** Variables that each trip hands on as it got them. */
  #removeExtraLoopOutputs(node: Node): void {
    const [body] = node.blocks;
    for (let index = node.outputs.length - 1; index >= 0; index--) {
      const carried = body.inputs[index + 1];
      const initial = node.input(index + 2);
      if (body.outputs[index + 1] !== carried) continue;
      node.output(index).replaceAllUsesWith(initial);
      carried.replaceAllUsesWith(initial);
      node.eraseOutput(index);
      node.removeInput(index + 2);
      body.eraseOutput(index + 1);
      body.eraseInput(index + 1);
      this.#changed = true;
    }
  }
}

function loopWillNotRun(node: Node): boolean {
  const tripCount = constantValue(node.input(0));
  return constantValue(node.input(1)) === false || (typeof tripCount === 'bigint' && tripCount <= 0n);
}

/** Moves a block of `node` before it, its outputs standing for the node's, and destroys the node. */
export function inlineBlockBefore(node: Node, block: Block): void {
  // A moved node leads on into the block it moved to.
  const nodes = [...block.nodes()];
  for (const inner of nodes) inner.moveBefore(node);
  node.outputs.forEach((output, index) => output.replaceAllUsesWith(block.outputs[index]));
  block.removeAllOutputs();
  node.destroy();
}
