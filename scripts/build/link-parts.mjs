// What is published of the library is fetched piece by piece, and pieces are found by addresses that a bundler may have changed: the engine
// may have another name than the one it was built under. So a part has no imports: this plugin makes its file a function of what the engine exports.
// Nor has it exports, which some bundlers drop from a file that they find by its address: it leaves the function where the engine looks for it.
import { readFileSync } from 'node:fs';
import MagicString from 'magic-string';
import { dynamicImports, exportedPairs, exportsOf, fileOf, importedPairs, importsOf, object } from './module-text.mjs';

const { version } = JSON.parse(readFileSync(new URL('../../packages/cresset/package.json', import.meta.url), 'utf8'));

/** The file of a part, by the module that it begins with. */
export const partFileOf = ({ name }) => `part-${name}.js`;

/** What the bundler makes an object of exports with, for an `import()` of a module whose file exports more: its own file would be one more that is waited for. */
const EXPORT_ALL =
  'getters=>Object.defineProperties({},Object.fromEntries(Object.entries(getters).map(([name,get])=>[name,{get,enumerable:true}])))';

/** Whether a file has nothing but the bundler's helpers. */
function isRuntime({ moduleIds, exports, fileName }) {
  if (!moduleIds.every((id) => id.includes('rolldown/runtime'))) return false;
  if (exports.length !== 1) throw new Error(`${fileName} has helpers that parts do not know: ${exports}`);
  return true;
}

/** Each `import()` of a file as a call of `link`, which is handed `engine`, a function that gives what the engine exports. */
function linkImports(text, program, link, engine, needsOf) {
  for (const node of dynamicImports(program)) {
    const file = fileOf(node.source);
    if (file !== null)
      text.overwrite(node.start, node.end, `${link}(${JSON.stringify([file, ...needsOf(file)])},${engine})`);
  }
}

/**
 * The engine: `import('./part-x.js')` becomes a call of `linkPart`, which is handed the names of the file and of those that it needs, to be
 * fetched at once, and what parts import. All of it stands in a function: minifiers that take the file for a script (Rspack's) leave names at its top
 * as they are, and find longer ones for everything else.
 */
function linkEngine(code, program, publicNames, needsOf) {
  const text = new MagicString(code);
  const exports = exportsOf(program);
  const pairs = exportedPairs(exports);
  const link = pairs.find(([name]) => name === 'linkPart')[1];
  linkImports(text, program, link, 'engineExports', needsOf);
  const published = pairs.filter(([name]) => publicNames.includes(name));
  text.overwrite(
    exports.start,
    exports.end,
    `function engineExports(){return${object(pairs)}}\nreturn${object(published)}`,
  );
  const names = published.map(([name]) => name).join(',');
  text.prepend(`const{${names}}=(()=>{`).append(`})();export{${names}};`);
  return text;
}

/** A part: a function of the engine's exports and of those of other parts, in the order in which it names their files. What it imports later is linked as well. */
function linkPart(code, program, ownFile, engineFile, chunks, needsOf) {
  const text = new MagicString(code);
  linkImports(text, program, 'engine.linkPart', '()=>engine', needsOf);
  const needs = [];
  const parameters = ['engine'];
  let opening = '';
  for (const node of importsOf(program)) {
    text.remove(node.start, node.end);
    const file = fileOf(node.source);
    if (chunks[file] && isRuntime(chunks[file])) {
      opening += `const ${importedPairs(node)[0][1]}=${EXPORT_ALL};`;
      continue;
    }
    let from = 'engine';
    if (file !== engineFile) {
      from = `part${needs.length}`;
      needs.push(file);
      parameters.push(from);
    }
    opening += `const${object(importedPairs(node))}=${from};`;
  }
  const exports = exportsOf(program);
  text.overwrite(exports.start, exports.end, `return${object(exportedPairs(exports))}`);
  const place = `(globalThis[Symbol.for("cresset.parts ${version}")]??={})[${JSON.stringify(ownFile)}]`;
  text.prepend(`${place}={needs:${JSON.stringify(needs)},define:function(${parameters.join(',')}){${opening}\n`);
  text.append('}};');
  return text;
}

/** @param publicNames what the engine's file exports to who imports it */
export function linkParts(publicNames) {
  return {
    name: 'link-parts',
    renderChunk(code, chunk, _options, { chunks }) {
      const program = this.parse(code);
      const engine = Object.values(chunks).find(({ isEntry }) => isEntry).fileName;
      const needsOf = (file, found = new Set()) => {
        for (const each of chunks[file].imports)
          if (each !== engine && !isRuntime(chunks[each]) && !found.has(each)) needsOf(each, found.add(each));
        return [...found];
      };
      const text = chunk.isEntry
        ? linkEngine(code, program, publicNames, needsOf)
        : linkPart(code, program, chunk.fileName, engine, chunks, needsOf);
      return { code: text.toString(), map: text.generateMap({ hires: 'boundary' }) };
    },
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle))
        if (file.type === 'chunk' && isRuntime(file)) delete bundle[file.fileName];
    },
  };
}
