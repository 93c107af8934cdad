import { constantValue, IntType, TensorType, type Graph, type Node, type Value } from '@cresset/ir';

/**
 * Says batch norm with running statistics in pointwise operators, which can be fused with what stands around it (PyTorch: DecomposeOps).
 * Statistics become views that broadcast over the input (`aten::_ncf_unsqueeze`).
 */
export function decomposeBatchNorm(graph: Graph): boolean {
  let changed = false;
  for (const node of graph.allNodes()) {
    if (!usesRunningStatistics(node)) continue;
    decompose(node);
    changed = true;
  }
  return changed;
}

function usesRunningStatistics(node: Node): boolean {
  if (node.kind !== 'aten::batch_norm' || !node.maybeSchema()) return false;
  const [mean, variance] = [node.namedInput('running_mean'), node.namedInput('running_var')];
  return constantValue(node.namedInput('training')) === false && mean.mustNotBeNone() && variance.mustNotBeNone();
}

/** `(input - mean) · 1/√(var + eps) · weight + bias`, without the last two where they are None. */
function decompose(node: Node): void {
  const graph = node.owningGraph;
  graph.withInsertPoint(node, () => {
    const insert = (kind: string, ...inputs: Value[]): Value =>
      graph.insertNode(graph.create(kind, inputs).copyMetadata(node)).output().setType(TensorType.get());
    const input = node.namedInput('input');
    const rank = insert('aten::dim', input).setType(IntType.get());
    const perChannel = (name: string): Value => insert('aten::_ncf_unsqueeze', node.namedInput(name), rank);
    const one = graph.insertConstant(1n);
    const isThere = (name: string): boolean => node.namedInput(name).mustNotBeNone();

    const variance = insert('aten::add', perChannel('running_var'), node.namedInput('eps'), one);
    const scale = insert('aten::rsqrt', variance);
    let result = insert('aten::mul', insert('aten::sub', input, perChannel('running_mean'), one), scale);
    if (isThere('weight')) result = insert('aten::mul', result, perChannel('weight'));
    if (isThere('bias')) result = insert('aten::add', result, perChannel('bias'), one);
    node.output().replaceAllUsesWith(result.setType(node.output().type));
  });
  node.destroy();
}
