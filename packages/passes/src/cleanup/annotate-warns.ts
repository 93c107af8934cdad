import type { Graph } from '@cresset/ir';

let warnCount = 0n;

/** Gives each warning of a program a number of its own, by which it is known whether it was shown (PyTorch: AnnotateWarns). */
export function annotateWarns(graph: Graph): void {
  if (!graph.kinds.has('aten::warn')) return;
  for (const node of graph.allNodes()) {
    if (node.kind === 'aten::warn') node.setI('warn_id', warnCount++);
  }
}
