/**
 * A graph's text with its values renamed in order of definition, so that two graphs that differ in names only have equal
 * texts. A name is defined where a type follows it, and again for the next value of the name.
 */
export function renameValuesByDefinitionOrder(text: string): string {
  const names = new Map<string, string>();
  let next = 0;
  const isDefinition = /^\s*:/;
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('with ') || line.startsWith('graph(')) {
        names.clear();
        next = 0;
      }
      // The right-hand side uses what was defined before, the left-hand side defines.
      const equals = line.indexOf(' = ');
      const [definitions, uses] =
        equals === -1 || !line.trimStart().startsWith('%') ? [line, ''] : [line.slice(0, equals), line.slice(equals)];
      const renamedUses = rename(uses, () => false);
      return rename(definitions, (rest) => isDefinition.test(rest)) + renamedUses;
    })
    .join('\n');

  function rename(part: string, defines: (rest: string) => boolean): string {
    return part.replace(/%([\w.]+)/g, (whole, name: string, offset: number) => {
      if (defines(part.slice(offset + whole.length))) {
        names.set(name, `%${next++}`);
      }
      return names.get(name) ?? whole;
    });
  }
}
