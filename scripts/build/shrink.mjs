// The last kilobytes: a second minifier over what the bundler made, which knows expressions better, and shorter names for members of the engine's
// classes. Source maps are carried along.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minify } from 'terser';
import { memberNames } from './member-names.mjs';

/** The opening of an import whose address is known at run time only. Bundlers have to leave it alone, and know so by comments. */
const COMPUTED_IMPORT = /\bimport\((?=[\w$])/g;
const IGNORED = '/* webpackIgnore: true *//* @vite-ignore *//* turbopackIgnore: true */';

/** The engine and its parts, which see each other's objects; what has everything in one file is kept as the source names it, to be compared with. */
const OF_ENGINE = /^(?:engine|part-[\w-]+)\.js$/;
/** What is loaded beside them, and what its users see. */
const BESIDE_ENGINE = /^(?:cresset|worker|provide-engine|page-[\w-]+)(?:\.js|\.d\.ts)$/;

/** Names of the browser's that are younger than terser's list of them. */
const webgpuTypes = readFileSync(new URL('../../node_modules/@webgpu/types/dist/index.d.ts', import.meta.url), 'utf8');

/** Terser's options for giving properties other names; `$` stands before each in what it keeps from file to file. */
function renaming(names) {
  const props = Object.fromEntries([...names].map(([name, short]) => [`$${name}`, short]));
  return {
    mangle: { properties: { regex: new RegExp(`^(?:${[...names.keys()].join('|')})$`) } },
    nameCache: { props: { props } },
  };
}

/** Shrinks every script of a folder in place, where the declarations of what it exports are too. */
export async function shrinkScripts(folder) {
  const files = readdirSync(folder);
  const textsOf = (pattern) =>
    files.filter((name) => pattern.test(name)).map((name) => readFileSync(join(folder, name), 'utf8'));
  const names = memberNames(textsOf(OF_ENGINE), [...textsOf(BESIDE_ENGINE), webgpuTypes]);
  for (const name of files.filter((each) => each.endsWith('.js'))) {
    const file = join(folder, name);
    // What the bundler wrote itself, and none of us, has no map.
    const content = existsSync(`${file}.map`) ? readFileSync(`${file}.map`, 'utf8') : undefined;
    const { code, map } = await minify(readFileSync(file, 'utf8'), {
      module: !name.endsWith('.global.js'),
      ecma: 2020,
      compress: { passes: 3 },
      sourceMap: content !== undefined && { content, url: `${name}.map` },
      // Bundlers recognise a worker by this form, string and all.
      format: { quote_style: 2 },
      ...(OF_ENGINE.test(name) && renaming(names)),
    });
    writeFileSync(file, code.replace(COMPUTED_IMPORT, `import(${IGNORED}`));
    if (content !== undefined) writeFileSync(`${file}.map`, map);
  }
}
