// The last kilobyte: a second minifier over what the bundler made, which knows expressions better. Source maps are carried along.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minify } from 'terser';

/** The opening of an import whose address is known at run time only. Bundlers have to leave it alone, and know so by comments. */
const COMPUTED_IMPORT = /\bimport\((?=[\w$])/g;
const IGNORED = '/* webpackIgnore: true *//* @vite-ignore *//* turbopackIgnore: true */';

/** Shrinks every script of a folder in place. */
export async function shrinkScripts(folder) {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.js'))) {
    const file = join(folder, name);
    // What the bundler wrote itself, and none of us, has no map.
    const content = existsSync(`${file}.map`) ? readFileSync(`${file}.map`, 'utf8') : undefined;
    const { code, map } = await minify(readFileSync(file, 'utf8'), {
      module: !name.endsWith('.global.js'),
      ecma: 2020,
      compress: { passes: 2 },
      sourceMap: content !== undefined && { content, url: `${name}.map` },
      // Bundlers recognise a worker by this form, string and all.
      format: { quote_style: 2 },
    });
    writeFileSync(file, code.replace(COMPUTED_IMPORT, `import(${IGNORED}`));
    if (content !== undefined) writeFileSync(`${file}.map`, map);
  }
}
