import { IntType, ListType, logGraph, operatorsFor, TensorType, type Graph, type Node, type Value } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import { rowOf } from '../fusion/fusable.ts';
import { inline, insertGraphBefore } from '../cleanup/inliner.ts';

/** Compiles the TorchScript text of a row's decomposition to a graph over the row's arguments. */
export type DecompositionCompiler = (row: OperatorRow) => Graph;

/**
 * Puts operators that are defined in terms of others (row.decomposition) in those terms (PyTorch: RunDecompositions).
 *
 * @param forDevice whether what somebody else computes is, too: on the host that is its function
 * @param keeps which operators stay as they are
 */
export function decomposeOps(
  graph: Graph,
  compile: DecompositionCompiler,
  forDevice = true,
  keeps?: (node: Node) => boolean,
): boolean {
  const isDecomposed = (node: Node): boolean => {
    const row = rowOf(node);
    return hasDecomposition(row) && !(row?.remote && !forDevice) && !keeps?.(node);
  };
  let changed = false;
  for (;;) {
    // Decompositions may use decomposed operators: what is inserted is looked at again.
    const found = hasDecomposedKinds(graph) ? [...graph.allNodes()].filter(isDecomposed) : [];
    if (found.length === 0) break;
    for (const node of found) decompose(node, compile);
    changed = true;
  }
  logGraph('decompose_ops', graph);
  return changed;
}

const hasDecomposition = (row: OperatorRow | null | undefined): boolean =>
  (row?.derived?.from ?? row)?.decomposition !== undefined;

function hasDecomposedKinds(graph: Graph): boolean {
  for (const kind of graph.kinds)
    for (const { row } of operatorsFor(kind)) if (hasDecomposition(row as OperatorRow | undefined)) return true;
  return false;
}

function decompose(node: Node, compile: DecompositionCompiler): void {
  const row = rowOf(node)!;
  const source = row.derived?.from ?? row;
  const body = compile(source).copy();
  inline(body);
  const isOut = row.derived?.form === 'out';
  const args = isVariadic(node) ? gathered(node) : isOut ? node.inputs.slice(0, body.inputs.length) : node.inputs;
  const targets = isOut ? node.inputs.slice(body.inputs.length) : [node.input(0)];
  const graph = node.owningGraph;
  let results = insertGraphBefore(node, body, args, node.callstack);
  if (results.length === 1 && results[0].type.kind === 'TupleType') {
    const [tuple] = results;
    results = [...graph.createTupleUnpack(tuple).insertBefore(node).outputs];
  } else if (isVariadic(node) && results[0].type.kind === 'ListType') {
    const unpack = graph.create('prim::ListUnpack', results, node.outputs.length).insertBefore(node);
    results = [...unpack.copyMetadata(node).outputs];
  }
  if (row.derived) results = results.map((result, index) => insertWrite(node, targets[index], result, isOut));
  node.outputs.forEach((output, index) => output.replaceAllUsesWith(results[index].setType(output.type)));
  node.destroy();
}

function isVariadic(node: Node): boolean {
  return node.maybeSchema()?.isVararg === true;
}

/** Tensors of any number are one list to the text, and attributes of the node are arguments. */
function gathered(node: Node): Value[] {
  const graph = node.owningGraph;
  return graph.withInsertPoint(node, () => {
    const list = graph.insertNode(graph.create('prim::ListConstruct', node.inputs));
    list.output().setType(new ListType(TensorType.get()));
    return [list.output(), ...node.attributeNames.map((name) => graph.insertConstant(node.i(name)))];
  });
}

/** Writes a result to the tensor an in-place or `out=` form was given. */
function insertWrite(node: Node, target: Value, result: Value, resizes: boolean): Value {
  const graph = node.owningGraph;
  return graph.withInsertPoint(node, () => {
    if (resizes) {
      const sizes = graph.insertNode(graph.create('aten::size', [result]));
      sizes.output().setType(new ListType(IntType.get()));
      graph.insertNode(graph.create('aten::resize_', [target, sizes.output(), graph.insertConstant(null)]));
    }
    return graph.insertNode(graph.create('aten::copy_', [target, result, graph.insertConstant(false)])).output();
  });
}
