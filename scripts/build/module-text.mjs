// What the plugins that link the published files read off a module's tree.

const isImport = ({ type }) => type === 'ImportDeclaration';
const isExport = ({ type, source }) => type === 'ExportNamedDeclaration' && !source;
const nameOf = (node) => node.name ?? node.value;

export const importsOf = (program) => program.body.filter(isImport);

/** The one list of exports that a bundled module ends with. */
export const exportsOf = (program) => program.body.find(isExport);

/** `[[exported, local], …]` */
export const exportedPairs = (declaration) =>
  declaration.specifiers.map(({ exported, local }) => [nameOf(exported), nameOf(local)]);

/** `[[imported, local], …]` */
export const importedPairs = (declaration) =>
  declaration.specifiers.map(({ imported, local }) => [nameOf(imported), nameOf(local)]);

/** `{key:local,…}`, which makes an object and takes one apart. */
export function object(pairs) {
  return `{${pairs.map(([key, local]) => (key === local ? key : `${JSON.stringify(key)}:${local}`)).join(',')}}`;
}

/** Every `import(…)` in a tree. */
export function dynamicImports(node, found = []) {
  if (Array.isArray(node)) for (const each of node) dynamicImports(each, found);
  else if (node !== null && typeof node === 'object') {
    if (node.type === 'ImportExpression') found.push(node);
    for (const value of Object.values(node))
      if (value !== null && typeof value === 'object') dynamicImports(value, found);
  }
  return found;
}

/** The name of the file beside the module that an import's source names; null for other sources. */
export function fileOf(source) {
  const text = source?.type === 'TemplateLiteral' ? source.quasis[0]?.value.cooked : source?.value;
  return typeof text === 'string' && text.startsWith('./') ? text.slice(2) : null;
}
