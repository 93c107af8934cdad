import {
  type Block,
  constantValue,
  type Graph,
  IntType,
  logGraph,
  mayChange,
  type Node,
  type Value,
} from '@cresset/ir';
import { eliminateDeadWrites, eliminateDeadCodeInBlock } from './dead-code-elimination.ts';

/** Trips that the body of an unrolled loop stands for. */
const UNROLL_FACTOR = 8;
/** A longer body is left as it is. */
const MAX_BODY_SIZE = 32;
/** With fewer trips than this, known beforehand, nothing is left of the loop. */
const MAX_BODY_REPEATS = 64n;

/**
 * Unrolls loops with short bodies that only the number of trips ends (PyTorch: UnrollLoops).
 *
 * @param isLeft whether a loop is better off as it is
 */
export function unrollLoops(graph: Graph, isLeft: (loop: Node) => boolean = () => false): boolean {
  return unrollAndSweep(graph, ([body], loop) => sizeOf(body, MAX_BODY_SIZE + 1) <= MAX_BODY_SIZE && !isLeft(loop));
}

/** Unrolls loops whose number of trips is a constant (PyTorch: UnrollConstantLoops). */
export function unrollConstantLoops(graph: Graph): boolean {
  return unrollAndSweep(graph, (_blocks, loop) => loop.input(0).node.kind === 'prim::Constant');
}

type LoopFilter = (blocks: readonly Block[], loop: Node) => boolean;

function unrollAndSweep(graph: Graph, filter: LoopFilter): boolean {
  const changed = graph.kinds.has('prim::Loop') && unrollInBlock(graph.block, filter);
  if (changed) eliminateDeadWrites(graph);
  logGraph('loop_unrolling', graph);
  return changed;
}

function unrollInBlock(block: Block, filter: LoopFilter): boolean {
  let changed = false;
  for (let node = block.paramNode.next; node !== block.returnNode;) {
    // Unrolling takes the node away, and may put another behind it that is no matter of ours.
    const { next } = node;
    for (const inner of node.blocks) changed = unrollInBlock(inner, filter) || changed;
    if (isForLoop(node) && filter(node.blocks, node) && mayChange('loop_unrolling', node)) {
      unroll(node);
      changed = true;
    }
    node = next;
  }
  return changed;
}

function isForLoop(node: Node): boolean {
  if (node.kind !== 'prim::Loop') return false;
  return constantValue(node.input(1)) === true && constantValue(node.blocks[0].outputs[0]) === true;
}

/** Number of nodes that are executed, those of inner blocks and ends of blocks among them; `limit` where there are more. */
function sizeOf(block: Block, limit: number): number {
  let size = 1;
  for (const node of block.nodes()) {
    if (size >= limit) return limit;
    for (const inner of node.blocks) size += sizeOf(inner, limit - size);
    if (node.kind !== 'prim::Constant') size++;
  }
  return Math.min(size, limit);
}

function unroll(loop: Node): void {
  const graph = loop.owningGraph;
  const [body] = loop.blocks;
  if (body.inputs[0].hasUses()) replaceCounter(loop);

  const trips = constantValue(loop.input(0));
  if (typeof trips === 'bigint' && trips < MAX_BODY_REPEATS) {
    repeatBody(body, Number(trips), loop.addBlock());
    loop.eraseBlock(0);
    inlineBody(loop);
    return;
  }

  // The copy runs the trips that are left over.
  const epilogue = graph.createClone(loop, (value) => value).insertAfter(loop);
  loop.outputs.forEach((output, index) => {
    output.replaceAllUsesWith(epilogue.output(index));
    epilogue.replaceInput(index + 2, output);
  });
  repeatBody(body, UNROLL_FACTOR, loop.addBlock());
  loop.eraseBlock(0);
  graph.withInsertPoint(loop, () => {
    const count = loop.input(0);
    const factor = BigInt(UNROLL_FACTOR);
    const rounds = graph.insert('aten::__round_to_zero_floordiv', [count, factor]);
    loop.replaceInput(0, rounds);
    epilogue.replaceInput(0, graph.insert('aten::sub', [count, graph.insert('aten::mul', [rounds, factor])]));
  });
}

/** Counts in a variable that the loop carries: unrolled, its own counter would count rounds. */
function replaceCounter(loop: Node): void {
  const graph = loop.owningGraph;
  const [body] = loop.blocks;
  const first = graph.withInsertPoint(loop, () => graph.insertConstant(0n));
  loop.insertInput(2, first);
  loop.insertOutput(0).setType(IntType.get());
  const counter = body.insertInput(1).setType(IntType.get());
  body.inputs[0].replaceAllUsesWith(counter);
  const next = graph.withInsertPoint(body, () => graph.insert('aten::add', [counter, 1n]));
  body.insertOutput(1, next);
}

function repeatBody(body: Block, times: number, target: Block): void {
  const graph = body.owningGraph;
  for (const input of body.inputs) target.addInput().copyMetadata(input);
  let values: readonly Value[] = target.inputs;
  graph.withInsertPoint(target, () => {
    for (let time = 0; time < times; time++) values = insertCopy(graph, body, [body.inputs[0], ...values.slice(1)]);
  });
  for (const value of values) target.registerOutput(value);
  // What is dead by now would make the loops around look longer than they are.
  eliminateDeadCodeInBlock(target);
}

/** Inserts copies of a block's nodes; gives what stands for its outputs. */
function insertCopy(graph: Graph, block: Block, inputs: readonly Value[]): Value[] {
  const copies = new Map<Value, Value>();
  block.inputs.forEach((input, index) => copies.set(input, inputs[index]));
  const map = (value: Value): Value => copies.get(value) ?? value;
  for (const node of block.nodes()) {
    const copy = graph.insertNode(graph.createClone(node, map));
    node.outputs.forEach((output, index) => copies.set(output, copy.output(index)));
  }
  return block.outputs.map(map);
}

/** Puts the body of a loop of one trip in the loop's place. */
function inlineBody(loop: Node): void {
  const graph = loop.owningGraph;
  const [body] = loop.blocks;
  const inputs = [loop.input(0), ...loop.inputs.slice(2)];
  const [, ...results] = graph.withInsertPoint(loop, () => insertCopy(graph, body, inputs));
  loop.outputs.forEach((output, index) => output.replaceAllUsesWith(results[index]));
  loop.destroy();
}
