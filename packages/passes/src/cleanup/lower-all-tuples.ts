import {
  type Block,
  constantValue,
  CressetError,
  type Graph,
  isTupleConstant,
  type Node,
  TupleType,
  type Value,
} from '@cresset/ir';
import { eliminateDeadCode } from './dead-code-elimination.ts';

/**
 * Takes all tuples out of a graph: inputs, outputs and block parameters of tuple types become one for each element (PyTorch:
 * LowerAllTuples). Throws `PASS_LOWER_TUPLES` for a tuple that something needs whole.
 */
export function lowerAllTuples(graph: Graph): void {
  lowerBlock(graph.block);
  eliminateDeadCode(graph);
  ensureNoTuples(graph.block);
}

/** Kinds whose inputs and outputs may be flattened. */
const forwarders: ReadonlySet<string> = new Set([
  'prim::If',
  'prim::Loop',
  'prim::Uninitialized',
  'prim::Param',
  'prim::Return',
  'prim::PythonOp',
  'aten::format',
  'aten::__getitem__',
]);

function requireForwarder({ kind }: Node): void {
  if (forwarders.has(kind)) return;
  const message = `tuple appears in op that does not forward tuples, unsupported kind: ${kind}`;
  throw new CressetError('PASS_LOWER_TUPLES', message);
}

function lowerBlock(block: Block): void {
  // Parameters of a block are the outputs of its first node, its results the inputs of the last.
  visit(block.paramNode, block.paramNode.next);
  for (let node = block.paramNode.next; node !== block.returnNode;) {
    const { next } = node;
    unfoldConstant(node);
    visit(node, next);
    node = next;
  }
  visit(block.returnNode, null);
}

function visit(node: Node, place: Node | null): void {
  switch (node.kind) {
    case 'prim::TupleConstruct':
      return;
    case 'prim::TupleUnpack':
    case 'prim::TupleIndex':
    case 'prim::TupleSlice':
      return takeApart(node);
    default:
      flattenInputs(node);
      for (const block of node.blocks) lowerBlock(block);
      if (place) flattenOutputs(node, place);
  }
}

function constructOf(tuple: Value, user: Node): Node {
  if (tuple.node.kind === 'prim::TupleConstruct') return tuple.node;
  throw new CressetError('PASS_LOWER_TUPLES', `${user.kind} not matched to tuple construct`);
}

function takeApart(node: Node): void {
  const elements = constructOf(node.input(0), node).inputs;
  if (node.kind === 'prim::TupleUnpack') {
    node.outputs.forEach((output, index) => output.replaceAllUsesWith(elements[index]));
  } else if (node.kind === 'prim::TupleIndex') {
    const index = constantValue(node.input(1));
    if (typeof index !== 'bigint') throw new CressetError('PASS_LOWER_TUPLES', 'tuple index with non-constant index');
    node.output().replaceAllUsesWith(elements.at(Number(index))!);
  } else {
    const slice = elements.slice(Number(node.i('beg')), Number(node.i('end')));
    const tuple = node.owningGraph.createTuple(slice).insertBefore(node).copyMetadata(node);
    node.output().replaceAllUsesWith(tuple.output());
  }
}

/** `f(a, (b, c))` becomes `f(a, b, c)`; what comes in is looked at again, since tuples nest. */
function flattenInputs(node: Node): void {
  for (let index = 0; index < node.inputs.length;) {
    const input = node.input(index);
    const { type } = input;
    if (!(type instanceof TupleType)) {
      index++;
      continue;
    }
    requireForwarder(node);
    const elements = constructOf(input, node).inputs.slice(0, type.elements.length);
    elements.forEach((element, offset) => node.insertInput(index + 1 + offset, element));
    node.removeInput(index);
  }
}

/**
 * An output `(a, b)` becomes two, which a TupleConstruct before `place` makes a tuple again for its users. As in PyTorch, only those of the
 * graph itself are given types.
 */
function flattenOutputs(node: Node, place: Node): void {
  const isTyped = node === node.owningGraph.block.paramNode;
  let point = place;
  for (let index = 0; index < node.outputs.length;) {
    const output = node.output(index);
    const { type } = output;
    if (!output.hasUses() || !(type instanceof TupleType)) {
      index++;
      continue;
    }
    requireForwarder(node);
    const parts = type.elements.map((element, offset) => {
      const part = node.insertOutput(index + 1 + offset);
      return isTyped || element instanceof TupleType ? part.setType(element) : part;
    });
    point = node.owningGraph.createTuple(parts).insertBefore(point).copyMetadata(node);
    output.replaceAllUsesWith(point.output());
    node.eraseOutput(index);
  }
}

/** A constant tuple becomes a TupleConstruct of constants. */
function unfoldConstant(node: Node): void {
  if (node.kind !== 'prim::Constant' || !(node.output().type instanceof TupleType)) return;
  const value = constantValue(node.output());
  if (!isTupleConstant(value)) return;
  const graph = node.owningGraph;
  graph.withInsertPoint(node, () => {
    const elements = value.items.map((item) => graph.insertConstant(item));
    const { type } = node.output();
    const isNamed = type instanceof TupleType && type.named !== undefined;
    const tuple = graph.insertNode(graph.createTuple(elements, isNamed ? (type as TupleType) : undefined));
    node.replaceAllUsesWith(tuple.copyMetadata(node));
    for (const element of elements) unfoldConstant(element.node);
  });
}

function ensureNoTuples(block: Block): void {
  for (const node of block.nodes()) {
    for (const inner of node.blocks) ensureNoTuples(inner);
    for (const output of node.outputs) {
      if (output.type instanceof TupleType) {
        throw new CressetError('PASS_LOWER_TUPLES', `Couldn't lower all tuples. ${node.kind} still gives one`);
      }
    }
  }
}
