import { type Block, BoolType, Graph, insertGraph, type Node, TensorType, type Value } from '@cresset/ir';

/**
 * Puts a group behind a check of the types that it was made for: `prim::TypeCheck` gives its inputs with these types and whether they have
 * them, and an If runs the group or, in a `prim::FallbackGraph`, its operators as they were (PyTorch: insertTypeGuard).
 */
export function insertTypeGuard(
  group: Node,
  typeOf: (type: TensorType) => TensorType = (type) => type,
  kind = 'prim::TypeCheck',
): void {
  const graph = group.owningGraph;
  const checked = group.inputs.filter(
    ({ type, node }) =>
      type instanceof TensorType && node.kind !== 'prim::Constant' && node.kind !== 'prim::FusionGroup',
  );
  if (checked.length === 0) return;
  const check = graph.create(kind, checked, checked.length + 1).insertBefore(group);
  check.setTys(
    'types',
    checked.map(({ type }) => typeOf(type as TensorType)),
  );
  checked.forEach(({ type }, index) => check.output(index).setType(type));
  insertFallback(group, check, check.output(checked.length).setType(BoolType.get()));
  group.inputs.forEach((input, index) => {
    const at = checked.indexOf(input);
    if (at !== -1) group.replaceInput(index, check.output(at));
  });
}

/** Puts a group into the branch of an If after `check` in which `holds` is true, and its operators as they were into the other. */
export function insertFallback(group: Node, check: Node, holds: Value): void {
  const graph = group.owningGraph;
  const branch = graph.create('prim::If', [holds], group.outputs.length).insertAfter(check);
  group.outputs.forEach((output, index) => output.replaceAllUsesWith(branch.output(index).setType(output.type)));
  const [whenTrue, whenFalse] = [branch.addBlock(), branch.addBlock()];
  graph.withInsertPoint(whenFalse, () => {
    for (const output of insertGraph(graph, group.g('Subgraph'), group.inputs)) whenFalse.registerOutput(output);
  });
  forgetTensorTypes(whenFalse);
  replaceByFallbackGraph(whenFalse, group.inputs);
  group.moveBefore(whenTrue.returnNode);
  for (const output of group.outputs) whenTrue.registerOutput(output);
}

const keepsTypes: ReadonlySet<string> = new Set(['prim::Constant', 'prim::TypeCheck', 'prim::TensorExprGroup']);

/** Forgets what is known of tensors that no guard and no group vouches for (PyTorch: removeTensorTypeSpecializations). */
export function forgetTensorTypes(block: Block): void {
  block.inputs.forEach(forgetTensorType);
  for (const node of block.nodes()) {
    node.blocks.forEach(forgetTensorTypes);
    node.outputs.forEach(forgetTensorType);
  }
}

function forgetTensorType(value: Value): void {
  if (value.type instanceof TensorType && !keepsTypes.has(value.node.kind)) value.setType(TensorType.get());
}

/**
 * Puts what a block within a node does into the subgraph of one `prim::FallbackGraph` (PyTorch: replaceBlockWithFallbackGraph).
 *
 * @param inputs the values from outside that the block uses.
 */
export function replaceByFallbackGraph(block: Block, inputs: readonly Value[]): void {
  const graph = block.owningGraph;
  const subgraph = new Graph();
  const inner = new Map(inputs.map((input) => [input, subgraph.addInput().copyMetadata(input)]));
  subgraph.block.cloneFrom(block, (value) => inner.get(value)!);
  const replaced = [...block.nodes()];
  const fallback = graph.create('prim::FallbackGraph', inputs, block.outputs.length).setG('Subgraph', subgraph);
  block.prependNode(fallback);
  for (const [index, output] of block.outputs.entries()) {
    block.replaceOutput(index, fallback.output(index).copyMetadata(output));
  }
  for (const node of replaced.reverse()) node.destroy();
}
