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
const GROWTH = 100;
const FREE_NODES = 2_000;

/**
 * Puts the bodies of called functions and methods in the place of the calls, all the way down (PyTorch: Inline). Calls of
 * interface methods stay: what they call is known only when they run. So do calls that would make the graph grow without measure:
 * a dozen functions that each call the next one several times are a short text.
 */
export function inline(graph: Graph, bodyOf: BodyOf = (fn) => fn.graph): boolean {
  const changed = new Inliner(bodyOf, sizeOf(graph.block).nodes).inlineBlock(graph.block, []);
  logGraph('inliner', graph);
  return changed;
}

class Inliner {
  readonly #known = new Set<GraphFunction>();
  /** Nodes that may still be inserted. */
  #budget: number;

  constructor(
    readonly bodyOf: BodyOf,
    nodes: number,
  ) {
    this.#budget = FREE_NODES + GROWTH * nodes;
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
    if (isInlined && this.#hasRoomFor(node, callee, callers)) {
      this.#inlineCall(node, callee, callers);
      return true;
    }
    let changed = false;
    for (const inner of node.blocks) changed = this.inlineBlock(inner, callers) || changed;
    return changed;
  }

  #hasRoomFor(call: Node, callee: GraphFunction, callers: readonly GraphFunction[]): boolean {
    const { nodes, depth } = sizeOf(this.bodyOf(callee).block);
    if (!this.#known.has(callee)) this.#budget += GROWTH * sizeOf(callee.graph.block).nodes;
    this.#known.add(callee);
    if (nodes > this.#budget || callers.length >= MAX_CALLS || call.depth + depth > MAX_BLOCKS) return false;
    this.#budget -= nodes;
    return true;
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
}

/** Nodes of a block and of those within it, and how deep these lie. */
function sizeOf(block: Block): { readonly nodes: number; readonly depth: number } {
  let [nodes, depth] = [0, 0];
  for (const node of block.nodes()) {
    nodes++;
    for (const inner of node.blocks) {
      const size = sizeOf(inner);
      nodes += size.nodes;
      depth = Math.max(depth, size.depth + 1);
    }
  }
  return { nodes, depth };
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
