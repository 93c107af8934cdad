import { type Graph, SubgraphRewriter } from '@cresset/ir';

/** Makes one operator of an addition and the relu after it (PyTorch: FuseAddRelu). */
export function fuseAddRelu(graph: Graph): void {
  const rewriter = new SubgraphRewriter();
  // In place is what happens to the sum: where that is a value of its own, the fused one is a new value too.
  for (const [add, relu, fused] of [
    ['add', 'relu', '_add_relu'],
    ['add', 'relu_', '_add_relu'],
    ['add_', 'relu_', '_add_relu_'],
  ]) {
    rewriter.registerRewritePattern(
      `graph(%a, %b, %alpha):
        %sum = aten::${add}(%a, %b, %alpha)
        %res = aten::${relu}(%sum)
        return (%res)`,
      `graph(%a, %b, %alpha):
        %res = aten::${fused}(%a, %b, %alpha)
        return (%res)`,
    );
  }
  rewriter.registerRewritePattern(
    `graph(%a, %b, %alpha, %out):
        %sum = aten::add(%a, %b, %alpha, %out)
        %res = aten::relu(%sum)
        return (%res)`,
    `graph(%a, %b, %alpha, %out):
        %res = aten::_add_relu(%a, %b, %alpha, %out)
        return (%res)`,
  );
  rewriter.runOnGraph(graph);
}
