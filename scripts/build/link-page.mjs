// What pages rarely need of the library's own module stands behind an `import()` too. In what is published such a file exports one function,
// of what it needs of the module, and imports nothing: so the module exports no more than its users are to have, and the classic script,
// which exports nothing at all, has the same files beside it.
import MagicString from 'magic-string';
import { dynamicImports, exportedPairs, exportsOf, fileOf, importedPairs, importsOf, object } from './module-text.mjs';

/** In a classic script, the variable that has its address. */
export const SCRIPT_ADDRESS = 'scriptAddress';

/** The file of what the page imports when it needs it, by the module that it begins with. */
export const pageFileOf = ({ name }) => `page-${name}.js`;

const pageOf = (chunks) => Object.values(chunks).find(({ isEntry }) => isEntry).fileName;

/** The names that a file imports from the module, as `[[imported, local], …]`. */
function importsFrom(pageFile, program, ownFile) {
  return importsOf(program).flatMap((node) => {
    const file = fileOf(node.source);
    if (file !== pageFile) throw new Error(`${ownFile} can import from ${pageFile} alone, and not from ${file}`);
    return importedPairs(node);
  });
}

/** Notes for {@link linkPage} what each file imports from the module: the module is linked before its files are. */
export function noteImports(noted) {
  return {
    name: 'note-imports',
    renderChunk(code, chunk, _options, { chunks }) {
      if (chunk.isEntry) return;
      const pairs = importsFrom(pageOf(chunks), this.parse(code), chunk.fileName);
      noted.set(
        chunk.fileName,
        pairs.map(([imported]) => imported),
      );
    },
  };
}

/**
 * The module: `import('./page-x.js')` gives what the file's function makes of the module's names that it needs, the first time that it is imported.
 */
function linkModule(code, program, publicNames, importsOfFiles) {
  const text = new MagicString(code);
  const exports = exportsOf(program);
  const pairs = exportedPairs(exports);
  for (const node of dynamicImports(program)) {
    const file = fileOf(node.source);
    const names = importsOfFiles.get(file);
    if (!names) continue;
    const needed = object(pairs.filter(([name]) => names.includes(name)));
    text.appendLeft(node.end, `.then(file=>linkedFiles[${JSON.stringify(file)}]??=file.default(${needed}))`);
  }
  const published = pairs.filter(([name]) => publicNames.includes(name));
  const specifiers = published.map(([name, local]) => `${local} as ${name}`);
  text.overwrite(exports.start, exports.end, `const linkedFiles={};\nexport{${specifiers.join(',')}};`);
  return text;
}

/** A file: `export default` of a function that takes what it imported and gives what it exported. */
function linkFile(code, program, ownFile, pageFile, names) {
  const text = new MagicString(code);
  const imported = importsFrom(pageFile, program, ownFile);
  const unknown = imported.find(([name]) => !names.includes(name));
  if (unknown) throw new Error(`${ownFile} imports ${unknown[0]}, which it did not when that was noted`);
  for (const node of importsOf(program)) text.remove(node.start, node.end);
  const exports = exportsOf(program);
  text.overwrite(exports.start, exports.end, `return${object(exportedPairs(exports))}`);
  return text.prepend(`export default function(${object(imported)}){`).append('}');
}

/**
 * @param publicNames what the library's module exports to its users
 * @param importsOfFiles as they were noted
 */
export function linkPage(publicNames, importsOfFiles) {
  return {
    name: 'link-page',
    renderChunk(code, chunk, _options, { chunks }) {
      const program = this.parse(code);
      const text = chunk.isEntry
        ? linkModule(code, program, publicNames, importsOfFiles)
        : linkFile(code, program, chunk.fileName, pageOf(chunks), importsOfFiles.get(chunk.fileName));
      return { code: text.toString(), map: text.generateMap({ hires: 'boundary' }) };
    },
  };
}

/**
 * Makes a classic script of the module: a function that is called at once, and whose result is a global variable. Files beside it are found by the
 * script's own address, which is known while it is run for the first time; a script of another origin has no other that names could be relative to.
 *
 * @param name of the variable
 */
export function classicScript(name) {
  return {
    name: 'classic-script',
    renderChunk(code, chunk) {
      if (!chunk.isEntry) return null;
      const program = this.parse(code);
      const text = new MagicString(code);
      for (const { source } of dynamicImports(program)) {
        const file = fileOf(source);
        if (file !== null) text.overwrite(source.start, source.end, `new URL("./${file}",${SCRIPT_ADDRESS}).href`);
      }
      const exports = exportsOf(program);
      text.overwrite(exports.start, exports.end, `return${object(exportedPairs(exports))}`);
      text.prepend(`globalThis.${name}=(${SCRIPT_ADDRESS}=>{`);
      text.append('})(globalThis.document?.currentScript?.src);');
      return { code: text.toString(), map: text.generateMap({ hires: 'boundary' }) };
    },
  };
}
