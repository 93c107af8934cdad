import type { AliasFacts } from './alias-analysis.ts';
import type { Graph } from '../graph/graph.ts';
import type { MemoryElement } from './memory-dag.ts';
import { printNode } from '../text/printer.ts';

/** What is known of a graph's values and writes, as text (PyTorch: AliasDb::toString). Wildcards have the name of their type. */
export function dumpAliasFacts(graph: Graph, facts: AliasFacts): string {
  const { dag, elements, writes } = facts;
  const nameOf = (element: MemoryElement): string => {
    const names = Array.from(element.values, (value) => `%${value.debugName}`);
    if (names.length === 0) return `WILDCARD for type ${facts.wildcardType(element)}`;
    return names.length === 1 ? names[0] : `(${names.join(', ')})`;
  };
  const namesOf = (group: Iterable<MemoryElement>): string => Array.from(group, nameOf).join(', ');
  let text = `\n===1. GRAPH===\n${graph}\n===2. ALIAS DB===\n`;
  for (const element of new Set(elements.values())) {
    if (element.pointsTo.size > 0) text += `${nameOf(element)} points to: ${namesOf(element.pointsTo)}\n`;
    if (element.containedElements.size > 0)
      text += `${nameOf(element)} contains: ${namesOf(element.containedElements)}\n`;
  }
  text += '\n===3. Writes===\n';
  for (const [node, locations] of writes) {
    const written = Array.from(locations, (index) => `${nameOf(dag.elementAt(index))}, `);
    text += `${printNode(node)}  ${written.join('')}\n`;
  }
  return `${text}\n`;
}
