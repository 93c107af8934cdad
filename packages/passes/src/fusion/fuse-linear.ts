import { constantValue, type Graph, type MatchFilter, SubgraphRewriter } from '@cresset/ir';

/**
 * Makes `aten::linear` of the products and sums that it stands for, where the weight is visibly a transposed matrix (PyTorch:
 * FuseLinear).
 */
export function fuseLinear(graph: Graph): void {
  rewrite(
    graph,
    `graph(%input, %weight_t, %bias, %beta, %alpha):
      %res = aten::addmm(%bias, %input, %weight_t, %beta, %alpha)
      return (%res)`,
    `graph(%input, %weight_t, %bias, %beta, %alpha):
      %weight = aten::t(%weight_t)
      %res = aten::linear(%input, %weight, %bias)
      return (%res)`,
    (match, pattern) => isTransposed(match, pattern) && ['alpha', 'beta'].every((name) => isOne(name, match, pattern)),
  );
  rewrite(
    graph,
    `graph(%input, %weight_t, %bias, %alpha):
      %output = aten::matmul(%input, %weight_t)
      %res = aten::add_(%output, %bias, %alpha)
      return (%res)`,
    `graph(%input, %weight_t, %bias, %alpha):
      %weight = aten::t(%weight_t)
      %res = aten::linear(%input, %weight, %bias)
      return (%res)`,
    (match, pattern) => isTransposed(match, pattern) && isOne('alpha', match, pattern),
  );
  rewrite(
    graph,
    `graph(%input, %weight_t):
      %output = aten::matmul(%input, %weight_t)
      return (%output)`,
    `graph(%input, %weight_t):
      %weight = aten::t(%weight_t)
      %bias : Tensor? = prim::Constant()
      %res = aten::linear(%input, %weight, %bias)
      return (%res)`,
    isTransposed,
  );
  // Each of them transposed the weight once more.
  rewrite(
    graph,
    `graph(%input, %weight, %bias):
      %weight_t1 = aten::t(%weight)
      %weight_t2 = aten::t(%weight_t1)
      %res = aten::linear(%input, %weight_t2, %bias)
      return (%res)`,
    `graph(%input, %weight, %bias):
      %res = aten::linear(%input, %weight, %bias)
      return (%res)`,
  );
}

function rewrite(graph: Graph, pattern: string, replacement: string, filter?: MatchFilter): void {
  new SubgraphRewriter().registerRewritePattern(pattern, replacement).runOnGraph(graph, filter);
}

type FilterArguments = Parameters<MatchFilter>;

function isTransposed(match: FilterArguments[0], pattern: FilterArguments[1]): boolean {
  return match.values.get(pattern.get('weight_t')!)!.node.kind === 'aten::t';
}

function isOne(name: string, match: FilterArguments[0], pattern: FilterArguments[1]): boolean {
  const value = constantValue(match.values.get(pattern.get(name)!)!);
  return value === 1n || value === 1;
}
