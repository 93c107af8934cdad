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

/**
 * Puts the bodies of called functions and methods in the place of the calls, all the way down (PyTorch: Inline). Calls of
 * interface methods stay: what they call is known only when they run.
 */
export function inline(graph: Graph, bodyOf: BodyOf = (fn) => fn.graph): boolean {
  const changed = inlineBlock(graph.block, [], bodyOf);
  logGraph('inliner', graph);
  return changed;
}

function inlineBlock(block: Block, callers: readonly GraphFunction[], bodyOf: BodyOf): boolean {
  let changed = false;
  for (let node = block.paramNode.next; node !== block.returnNode;) {
    const { next } = node;
    const callee = calleeOf(node);
    if (callee && !callers.includes(callee) && mayChange('inliner', node)) {
      inlineCall(node, callee, callers, bodyOf);
      changed = true;
    } else {
      for (const inner of node.blocks) changed = inlineBlock(inner, callers, bodyOf) || changed;
    }
    node = next;
  }
  return changed;
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

/** Each body is copied once, to its final place: the calls within it are inlined there. */
function inlineCall(call: Node, callee: GraphFunction, callers: readonly GraphFunction[], bodyOf: BodyOf): void {
  const args = call.kind === 'prim::CallFunction' ? call.inputs.slice(1) : call.inputs;
  const callstack = callstackOf(call, callee);
  const before = call.previous;
  const results = insertGraphBefore(call, bodyOf(callee), args, callstack);
  call.outputs.forEach((output, index) => {
    const result = results[index];
    if (output.hasDebugName()) result.setDebugName(output.debugName);
    output.replaceAllUsesWith(result);
  });
  const within = [...callers, callee];
  for (let node = before.next; node !== call;) {
    const { next } = node;
    const inner = calleeOf(node);
    if (inner && !within.includes(inner) && mayChange('inliner', node)) inlineCall(node, inner, within, bodyOf);
    else for (const block of node.blocks) inlineBlock(block, within, bodyOf);
    node = next;
  }
  call.destroy();
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
