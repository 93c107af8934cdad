import {
  ClassType,
  FunctionType,
  GraphFunction,
  InlinedCallStack,
  logGraph,
  mayChange,
  type Block,
  type Graph,
  type Node,
  type Value,
} from '@cresset/ir';

/** The graph that takes the place of a function's calls. */
export type BodyOf = (fn: GraphFunction) => Graph;

/** Calls within calls, and blocks within blocks, beyond which a call stays one. */
const MAX_CALLS = 100;
const MAX_BLOCKS = 250;
/** Nodes that a program may grow to, for each node that it has where every function counts once, and by themselves. */
const GROWTH = 32;
const FREE_NODES = 10_000;
/** Where a program would grow beyond that, calls of functions up to this size are inlined still. */
const SMALL = 200;

/**
 * Puts the bodies of called functions and methods in the place of the calls, all the way down (PyTorch: Inline). Calls of
 * interface methods stay: what they call is known only when they run. So do calls of large functions where the graph would grow
 * without measure: a dozen functions that each call the next one several times are a short text.
 */
export function inline(graph: Graph, bodyOf: BodyOf = (fn) => fn.graph): boolean {
  const changed = new Inliner(graph, bodyOf).inlineBlock(graph.block, []);
  logGraph('inliner', graph);
  return changed;
}

/** Of a block with all that it calls: nodes, and blocks and calls within each other. */
interface Extent {
  readonly nodes: number;
  readonly blocks: number;
  readonly calls: number;
}

const ENDLESS: Extent = { nodes: Infinity, blocks: Infinity, calls: Infinity };

class Inliner {
  readonly #extents = new Map<GraphFunction, Extent>();
  readonly #inlinesAll: boolean;

  constructor(
    graph: Graph,
    readonly bodyOf: BodyOf,
  ) {
    const extent = this.#extentOf(graph.block, 0);
    let own = nodesIn(graph.block);
    for (const fn of this.#extents.keys()) own += nodesIn(fn.graph.block);
    this.#inlinesAll = fits(extent, FREE_NODES + GROWTH * own);
  }

  inlineBlock(block: Block, callers: readonly GraphFunction[]): boolean {
    let changed = false;
    for (let node = block.paramNode.next; node !== block.returnNode;) {
      const { next } = node;
      changed = this.#inlineNode(node, callers) || changed;
      node = next;
    }
    return changed;
  }

  #inlineNode(node: Node, callers: readonly GraphFunction[]): boolean {
    const callee = calleeOf(node);
    const isInlined = callee !== null && !callers.includes(callee) && mayChange('inliner', node);
    if (isInlined && (this.#inlinesAll || this.#isSmall(callee, node))) {
      this.#inlineCall(node, callee, callers);
      return true;
    }
    let changed = false;
    for (const inner of node.blocks) changed = this.inlineBlock(inner, callers) || changed;
    return changed;
  }

  #isSmall(callee: GraphFunction, call: Node): boolean {
    const { nodes, blocks, calls } = this.#extents.get(callee) ?? ENDLESS;
    return fits({ nodes, blocks: blocks + call.depth, calls }, SMALL);
  }

  /** Each body is copied once, to its final place: the calls within it are inlined there. */
  #inlineCall(call: Node, callee: GraphFunction, callers: readonly GraphFunction[]): void {
    const args = call.kind === 'prim::CallFunction' ? call.inputs.slice(1) : call.inputs;
    const callstack = callstackOf(call, callee);
    const before = call.previous;
    const results = insertGraphBefore(call, this.bodyOf(callee), args, callstack);
    call.outputs.forEach((output, index) => {
      const result = results[index];
      if (output.hasDebugName()) result.setDebugName(output.debugName);
      output.replaceAllUsesWith(result);
    });
    const within = [...callers, callee];
    for (let node = before.next; node !== call;) {
      const { next } = node;
      this.#inlineNode(node, within);
      node = next;
    }
    call.destroy();
  }

  #extentOf(block: Block, depth: number): Extent {
    let [nodes, blocks, calls] = [0, 0, 0];
    for (const node of block.nodes()) {
      const callee = calleeOf(node);
      const called = callee && this.#extentOfFunction(callee, depth);
      nodes += 1 + (called?.nodes ?? 0);
      blocks = Math.max(blocks, called?.blocks ?? 0);
      calls = Math.max(calls, called ? called.calls + 1 : 0);
      for (const inner of node.blocks) {
        const within = this.#extentOf(inner, depth);
        nodes += within.nodes;
        blocks = Math.max(blocks, within.blocks + 1);
        calls = Math.max(calls, within.calls);
      }
    }
    return { nodes, blocks, calls };
  }

  #extentOfFunction(fn: GraphFunction, depth: number): Extent {
    const known = this.#extents.get(fn);
    if (known) return known;
    if (depth >= MAX_CALLS) return ENDLESS;
    // Until it is known: a function that calls itself has no end.
    this.#extents.set(fn, ENDLESS);
    const extent = this.#extentOf(this.bodyOf(fn).block, depth + 1);
    this.#extents.set(fn, extent);
    return extent;
  }
}

const fits = ({ nodes, blocks, calls }: Extent, maxNodes: number): boolean =>
  nodes <= maxNodes && blocks <= MAX_BLOCKS && calls <= MAX_CALLS;

function nodesIn(block: Block): number {
  let nodes = 0;
  for (const node of block.nodes()) {
    nodes++;
    for (const inner of node.blocks) nodes += nodesIn(inner);
  }
  return nodes;
}

function calleeOf(node: Node): GraphFunction | null {
  if (node.kind === 'prim::CallFunction') {
    const { type } = node.input(0);
    return type instanceof FunctionType && type.function instanceof GraphFunction ? type.function : null;
  }
  if (node.kind === 'prim::CallMethod') {
    const { type } = node.input(0);
    const method = type instanceof ClassType ? type.findMethod(node.s('name')) : undefined;
    return method instanceof GraphFunction ? method : null;
  }
  return null;
}

function callstackOf(call: Node, callee: GraphFunction): InlinedCallStack {
  const outer = call.callstack?.entries() ?? [];
  let callstack = new InlinedCallStack(callee, call.sourceRange);
  for (const entry of [...outer].reverse()) {
    callstack = new InlinedCallStack(entry.function, entry.sourceRange, {
      callee: callstack,
      functionName: entry.functionName,
      moduleInstance: entry.moduleInstance,
    });
  }
  return callstack;
}

/**
 * Copies the nodes of another graph before `node`, `args` standing for its inputs; gives what stands for its outputs
 * (PyTorch: insertGraph). Copies get `callstack` where one is given.
 */
export function insertGraphBefore(
  node: Node,
  source: Graph,
  args: readonly Value[],
  callstack?: InlinedCallStack,
): Value[] {
  const graph = node.owningGraph;
  const copies = new Map<Value, Value>();
  source.inputs.forEach((input, index) => copies.set(input, args[index]));
  const map = (value: Value): Value => copies.get(value)!;
  for (const original of source.nodes()) {
    const copy = graph.createClone(original, map).insertBefore(node);
    if (callstack) setCallstack(copy, callstack);
    original.outputs.forEach((output, index) => copies.set(output, copy.output(index)));
  }
  return source.outputs.map(map);
}

function setCallstack(node: Node, callstack: InlinedCallStack): void {
  node.callstack = callstack;
  for (const block of node.blocks) for (const inner of block.nodes()) setCallstack(inner, callstack);
}
