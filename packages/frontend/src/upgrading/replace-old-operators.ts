import { type Graph, insertGraph } from '@cresset/ir';
import { CURRENT_OPERATOR_VERSION, findUpgrader, upgradedKinds } from './upgraders.ts';

/**
 * Puts the bodies of upgraders in place of operators that meant something else in the version of the graph, which is of the
 * current version afterwards; a graph without a version is left as it is (PyTorch: ReplaceOldOperatorsWithUpgraders).
 */
export function replaceOldOperatorsWithUpgraders(graph: Graph): void {
  const version = graph.opVersion;
  if (version === undefined || version >= CURRENT_OPERATOR_VERSION) return;
  const isOld = upgradedKinds.some((kind) => graph.kinds.has(kind));
  for (const node of isOld ? Array.from(graph.allNodes()) : []) {
    if (!node.kind.startsWith('aten::')) continue;
    const upgrader = findUpgrader(node.historicSchemaName ?? node.maybeOperator()?.schema.operatorName ?? '', version);
    if (upgrader === undefined) continue;
    const outputs = graph.withInsertPoint(node, () => insertGraph(graph, upgrader.graph, node.inputs));
    node.outputs.forEach((output, index) => output.replaceAllUsesWith(outputs[index]!));
    node.destroy();
  }
  graph.opVersion = CURRENT_OPERATOR_VERSION;
}
