import type { Graph } from '../graph/graph.ts';
import { isSilent, jitLog, jitOptions, withinLimit } from '../jit-options.ts';
import type { Node } from '../graph/node.ts';
import { printGraph, printNode } from './printer.ts';

/** Shows a graph in the log, where `file` was asked to: by itself, as `file` left it (PyTorch: GRAPH_DUMP). */
export function logGraph(file: string, graph: Graph, title = `After ${file}`): void {
  jitLog('DUMP', file, () => `${title}:\n${printGraph(graph, { sourceRanges: jitOptions().sourceRanges ?? true })}`);
}

/**
 * Whether a pass may change one more node, which it then does; says in the log which (PyTorch: JIT_OPT_ALLOWED with
 * GRAPH_UPDATE).
 *
 * @param replacement what takes the node's place
 */
export function mayChange(file: string, node: Node, replacement?: Node): boolean {
  if (isSilent()) return true;
  const isAllowed = withinLimit(file);
  if (isAllowed) {
    jitLog('UPDATE', file, () => `Changing\n${printNode(node)}${replacement ? `to\n${printNode(replacement)}` : ''}`);
  }
  return isAllowed;
}
