import { FunctionType, Graph, GraphFunction, subgraphOf, type Block, type Node } from '@cresset/ir';

/**
 * Makes every `prim::FallbackGraph` the call of a function, which gives a tuple (PyTorch: replaceFallbackGraphWithFallbackFunction).
 *
 * @param define is told of each function
 */
export function replaceFallbackGraphs(graph: Graph, define: (fn: GraphFunction) => void): void {
  const fallbacks = [...graph.allNodes()].filter(({ kind }) => kind === 'prim::FallbackGraph');
  for (const node of fallbacks) replaceByCall(node, define);
}

function replaceByCall(node: Node, define: (fn: GraphFunction) => void): void {
  const graph = node.owningGraph;
  const fn = new GraphFunction('fallback_function', withTupleResult(subgraphOf(node).block));
  define(fn);
  const callee = graph.create('prim::Constant').setS('name', fn.name).setI('fallback', 1).insertBefore(node);
  callee.output().setType(new FunctionType(fn));
  const call = graph.create('prim::CallFunction', [callee.output(), ...node.inputs]).insertBefore(node);
  call.output().setType(fn.graph.outputs[0].type);
  const unpack = graph.createTupleUnpack(call.output()).insertBefore(node);
  node.outputs.forEach((output, at) => output.replaceAllUsesWith(unpack.output(at)));
  node.destroy();
}

/** A function gives one value. */
function withTupleResult(block: Block): Graph {
  const graph = new Graph();
  graph.block.cloneFrom(block, (value) => value);
  const tuple = graph.appendNode(graph.createTuple(graph.outputs));
  for (let at = graph.outputs.length - 1; at >= 0; at--) graph.eraseOutput(at);
  graph.registerOutput(tuple.output());
  return graph;
}
