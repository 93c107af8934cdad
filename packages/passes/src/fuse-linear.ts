import { constantValue, type Graph, type MatchFilter, SubgraphRewriter } from '@cresset/ir';

/** Makes `aten::linear` of the products and sums that it stands for (PyTorch: FuseLinear). */
export function fuseLinear(graph: Graph): void {
  new SubgraphRewriter()
    .registerRewritePattern(
      `graph(%input, %weight, %bias, %beta, %alpha):
        %weight_t = aten::t(%weight)
        %res = aten::addmm(%bias, %input, %weight_t, %beta, %alpha)
        return (%res)`,
      `graph(%input, %weight, %bias, %beta, %alpha):
        %res = aten::linear(%input, %weight, %bias)
        return (%res)`,
    )
    .runOnGraph(graph, isOne('alpha', 'beta'));
  new SubgraphRewriter()
    .registerRewritePattern(
      `graph(%input, %weight, %bias, %alpha):
        %weight_t = aten::t(%weight)
        %output = aten::matmul(%input, %weight_t)
        %res = aten::add_(%output, %bias, %alpha)
        return (%res)`,
      `graph(%input, %weight, %bias, %alpha):
        %res = aten::linear(%input, %weight, %bias)
        return (%res)`,
    )
    .runOnGraph(graph, isOne('alpha'));
  new SubgraphRewriter()
    .registerRewritePattern(
      `graph(%input, %weight):
        %weight_t = aten::t(%weight)
        %output = aten::matmul(%input, %weight_t)
        return (%output)`,
      `graph(%input, %weight):
        %bias : Tensor? = prim::Constant()
        %res = aten::linear(%input, %weight, %bias)
        return (%res)`,
    )
    .runOnGraph(graph);
  // Two transpositions that cancel each other may be left of that.
  new SubgraphRewriter()
    .registerRewritePattern(
      `graph(%input, %weight, %bias):
        %weight_t1 = aten::t(%weight)
        %weight_t2 = aten::t(%weight_t1)
        %res = aten::linear(%input, %weight_t2, %bias)
        return (%res)`,
      `graph(%input, %weight, %bias):
        %res = aten::linear(%input, %weight, %bias)
        return (%res)`,
    )
    .runOnGraph(graph);
}

function isOne(...names: readonly string[]): MatchFilter {
  return ({ values }, pattern) =>
    names.every((name) => {
      const value = constantValue(values.get(pattern.get(name)!)!);
      return value === 1n || value === 1;
    });
}
