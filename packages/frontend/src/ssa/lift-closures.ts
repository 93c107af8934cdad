import { Graph, TupleType, type Block, type CleanupPasses, type Node, type Value } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';

/**
 * Takes the bodies of closures out of the graph they are written in, and makes `prim::fork` or `prim::awaitable` of those that run
 * elsewhere (PyTorch: liftClosures and inlineForkedClosures). A closure that nothing forks is left for dead code elimination.
 */
export function liftClosures(graph: Graph, cleanup: CleanupPasses): void {
  liftInBlock(graph.block, cleanup);
  forkInBlock(graph.block, cleanup);
}

function liftInBlock(block: Block, cleanup: CleanupPasses): void {
  for (const node of Array.from(block.nodes())) {
    if (node.kind === 'prim::Closure') {
      liftClosure(node, cleanup);
    } else {
      node.blocks.forEach((inner) => liftInBlock(inner, cleanup));
    }
  }
}

/** The closure's block becomes a graph over one tuple, the values it uses of the graph around it. */
function liftClosure(closure: Node, cleanup: CleanupPasses): void {
  const graph = closure.owningGraph;
  const subgraph = new Graph();
  const pack = graph.create('prim::TupleConstruct', [], 1).insertAfter(closure);
  const context = subgraph.addInput('context');
  const unpack = subgraph.insertNode(subgraph.create('prim::TupleUnpack', [context], 0));
  const captures = new Map<Value, Value>();
  subgraph.block.cloneFrom(closure.blocks[0]!, (value) => {
    let captured = captures.get(value);
    if (captured === undefined) {
      pack.addInput(value);
      captured = unpack.addOutput().copyMetadata(value);
      captures.set(value, captured);
    }
    return captured;
  });
  const contextType = new TupleType(pack.inputs.map((input) => input.type));
  context.setType(contextType);
  pack.output().setType(contextType);
  const pair = graph.create('prim::TupleConstruct', [], 1).insertAfter(pack);
  closure.output().replaceAllUsesWith(pair.output());
  pair.addInput(closure.output());
  pair.addInput(pack.output());
  pair.output().setType(new TupleType([closure.output().type, contextType]));
  closure.eraseBlock(0);
  // Closures may stand in closures.
  liftClosures(subgraph, cleanup);
  cleanup(subgraph);
  closure.setG('Subgraph', subgraph);
}

function forkInBlock(block: Block, cleanup: CleanupPasses): void {
  for (const node of Array.from(block.nodes())) {
    if (node.kind === 'prim::forkClosure' || node.kind === 'prim::awaitableClosure') {
      inlineForkedClosure(node, cleanup);
    } else {
      node.blocks.forEach((inner) => forkInBlock(inner, cleanup));
    }
  }
}

/** The values that the closure uses become inputs of the fork, and of its graph. */
function inlineForkedClosure(forked: Node, cleanup: CleanupPasses): void {
  const [closure, context] = forked.input().node.inputs.map((input) => input.node);
  if (closure?.kind !== 'prim::Closure' || context?.kind !== 'prim::TupleConstruct') {
    throw compileError(forked.sourceRange, 'Cannot fork this value');
  }
  const subgraph = closure.g('Subgraph').copy();
  const graph = forked.owningGraph;
  const fork = graph
    .create(forked.kind.slice(0, -'Closure'.length), [], 1)
    .insertAfter(forked)
    .setSourceRange(forked.sourceRange);
  if (subgraph.inputs.length !== 1 || !(subgraph.inputs[0]!.type instanceof TupleType)) {
    throw compileError(forked.sourceRange, 'Cannot fork lambda with parameters');
  }
  const contextInput = subgraph.inputs[0]!;
  const unpack = contextInput.uses[0]?.user;
  context.inputs.forEach((captured, index) => {
    fork.addInput(captured);
    const input = subgraph.insertInput(index).copyMetadata(captured);
    unpack?.outputs[index]?.replaceAllUsesWith(input);
  });
  unpack?.destroy();
  subgraph.eraseInput(subgraph.inputs.length - 1);
  fork.output().copyMetadata(forked.output());
  forked.output().replaceAllUsesWith(fork.output());
  forked.destroy();
  cleanup(subgraph);
  fork.setG('Subgraph', subgraph);
  destroyUnused(closure, context);
}

/** What stood for the closure goes, where nothing else uses it. */
function destroyUnused(closure: Node, context: Node): void {
  const pair = closure.output().uses[0]?.user;
  if (closure.output().uses.length === 1 && pair !== undefined && !pair.hasUses()) {
    pair.destroy();
    closure.destroy();
    if (!context.hasUses()) {
      context.destroy();
    }
  }
}
