import { type Graph } from '@cresset/ir';

/** Graph text with values renamed in order of their first appearance, which is that of definition: texts of equal graphs
 * are equal then. */
export function withCanonicalNames(text: string): string {
  const names = new Map<string, number>();
  const warnings = new Map<string, number>();
  return (
    text
      // Warnings are numbered in the order in which a process compiles them.
      .replace(/\[warn_id=\d+\]/g, (id) => {
        if (!warnings.has(id)) warnings.set(id, warnings.size);
        return `[warn_id=${warnings.get(id)}]`;
      })
      // Objects among constants are printed with their address in memory there, and with their class here.
      .replace(/\[value=object\([^)]*\)\]/g, '[value=object()]')
      .replace(/%[\w.]+/g, (name) => {
        let number = names.get(name);
        if (number === undefined) names.set(name, (number = names.size));
        return `%${number}`;
      })
      .trim()
  );
}

/** Drops `# file:line:column` comments from graph text. */
export function withoutLocations(text: string): string {
  return text.replace(/ # [^\n"]*:\d+:\d+$/gm, '');
}

/** Whether a graph is that of a text, up to the names of values. */
export function sameGraph(graph: Graph, text: string): boolean {
  return withCanonicalNames(String(graph)) === withCanonicalNames(text);
}
