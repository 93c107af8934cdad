import { IntType, type Graph, type Node } from '@cresset/ir';

/**
 * Makes every `prim::GradOf` an If: its block, where any of the gradients it takes is not zero, and zeros in its place elsewhere (PyTorch:
 * LowerGradOf). A graph has them in its outermost block alone.
 */
export function lowerGradOf(graph: Graph): void {
  for (const node of graph.nodes()) if (node.kind === 'prim::GradOf') lower(node);
}

function lower(linear: Node): void {
  const graph = linear.owningGraph;
  const condition = graph.create('prim::AutogradAnyNonZero', linear.inputs).insertBefore(linear);
  condition.output().setType(IntType.get());
  const branch = graph.create('prim::If', [condition.output()], linear.outputs.length).insertBefore(linear);
  branch.addBlock().cloneFrom(linear.blocks[0], (value) => value);
  const otherwise = branch.addBlock();
  const zero = otherwise.appendNode(graph.createAutogradZero()).output();
  linear.outputs.forEach((output, index) => {
    otherwise.registerOutput(zero);
    branch.output(index).copyMetadata(output);
  });
  linear.replaceAllUsesWith(branch);
  linear.destroy();
}
