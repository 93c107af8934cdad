import { BoolType, insertGraph, subgraphOf, TensorType, type Block, type Graph, type Node, type Value } from '@cresset/ir';
import { removeTensorTypeSpecializations } from './profiling-nodes.ts';

/** Which guard a type that was seen becomes: exact, or of the rank alone. */
export type TypeConverter = (type: TensorType) => TensorType;

/**
 * Puts a node with a subgraph under a check of its inputs' types: `prim::If` takes the node where they hold, and otherwise a
 * `prim::FallbackGraph` of what the subgraph was made of, which knows nothing of types (PyTorch: insertTypeGuard).
 *
 * @param kind `prim::TypeCheck` or `prim::RequiresGradCheck`
 * @returns false where there is nothing to check
 */
export function insertTypeGuard(guarded: Node, convert: TypeConverter, kind: string): boolean {
  const graph = guarded.owningGraph;
  const checked = guarded.inputs.filter(({ type, node }) => type instanceof TensorType && !KNOWN_BY_THEMSELVES.has(node.kind));
  if (checked.length === 0) return false;

  const check = graph.create(kind, checked, checked.length + 1).insertBefore(guarded);
  check.setTys(
    'types',
    checked.map(({ type }) => convert(type as TensorType)),
  );
  checked.forEach(({ type }, at) => check.output(at).setType(type));
  const holds = check.output(checked.length).setType(BoolType.get());

  const branch = graph.create('prim::If', [holds], guarded.outputs.length).insertAfter(check);
  guarded.outputs.forEach((output, at) => {
    branch.output(at).setType(output.type);
    output.replaceAllUsesWith(branch.output(at));
  });
  const whenTrue = branch.addBlock();
  const whenFalse = branch.addBlock();

  graph.withInsertPoint(whenFalse, () => {
    for (const output of insertGraph(graph, subgraphOf(guarded), guarded.inputs)) whenFalse.registerOutput(output);
  });
  removeTensorTypeSpecializations(whenFalse);
  replaceByFallbackGraph(whenFalse, guarded.inputs);

  guarded.moveBefore(whenTrue.returnNode);
  guarded.inputs.forEach((input, at) => {
    const index = checked.indexOf(input);
    if (index >= 0) guarded.replaceInput(at, check.output(index));
  });
  for (const output of guarded.outputs) whenTrue.registerOutput(output);
  return true;
}

/** What they give is guarded, or cannot change. */
const KNOWN_BY_THEMSELVES: ReadonlySet<string> = new Set(['prim::Constant', 'prim::FusionGroup']);

/** Puts what a block does into a `prim::FallbackGraph` of `inputs` (PyTorch: replaceBlockWithFallbackGraph). */
export function replaceByFallbackGraph(block: Block, inputs: readonly Value[]): void {
  const graph = block.owningGraph;
  const fallback = graph.createWithSubgraph('prim::FallbackGraph');
  const subgraph: Graph = subgraphOf(fallback);
  const inner = new Map<Value, Value>();
  for (const input of inputs) {
    inner.set(input, subgraph.addInput().copyMetadata(input));
    fallback.addInput(input);
  }
  subgraph.block.cloneFrom(block, (value) => inner.get(value)!);
  block.outputs.forEach((output, at) => {
    block.replaceOutput(at, fallback.addOutput().copyMetadata(output));
  });
  for (const node of block.reverseNodes()) node.destroy();
  fallback.insertBefore(block.returnNode);
}
