import { constantValue, IntType, TensorType, type Graph, type Node, type Value } from '@cresset/ir';

/**
 * Makes batch norm with running statistics a pointwise operator, which can be fused with what stands around it (PyTorch: DecomposeOps).
 * Its parameters become views that broadcast over the input (`aten::_ncf_unsqueeze`).
 */
export function decomposeBatchNorm(graph: Graph): boolean {
  if (!graph.kinds.has('aten::batch_norm')) return false;
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
  const isKnown = ['weight', 'bias'].every(
    (name) => node.namedInput(name).mustBeNone() || node.namedInput(name).mustNotBeNone(),
  );
  return (
    constantValue(node.namedInput('training')) === false && isKnown && mean.mustNotBeNone() && variance.mustNotBeNone()
  );
}

/** Parameters that are there become views; all others are None already. */
function decompose(node: Node): void {
  const graph = node.owningGraph;
  graph.withInsertPoint(node, () => {
    const insert = (kind: string, ...inputs: Value[]): Value =>
      graph.insertNode(graph.create(kind, inputs).copyMetadata(node)).output().setType(TensorType.get());
    const input = node.namedInput('input');
    const rank = insert('aten::dim', input).setType(IntType.get());
    const perChannel = ['weight', 'bias', 'running_mean', 'running_var'].map((name) => {
      const value = node.namedInput(name);
      return value.mustBeNone() ? value : insert('aten::_ncf_unsqueeze', value, rank);
    });
    const result = insert('cresset::batch_norm', input, ...perChannel, node.namedInput('eps'));
    node.output().replaceAllUsesWith(result.setType(node.output().type));
  });
  node.destroy();
}
