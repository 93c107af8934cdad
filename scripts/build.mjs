// Builds what others get: packages/cresset/dist (ES modules, the one-file script, the type declarations) and the
// playground. Nothing else in the workspace needs a build; packages are consumed as source.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { build } from 'vite';
import { runToEnd } from './machine/process-group.mjs';
import { buildLibrary } from './build/build-library.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const library = join(root, 'packages', 'cresset');
const declarations = join(library, 'dist', 'declarations');
const configFile = join(root, 'vite.config.ts');

/** One declaration file for the library and one for a worker's own module: the compiler writes one beside each source, the extractor joins them. */
async function buildDeclarations() {
  rmSync(declarations, { recursive: true, force: true });
  const { status } = await runToEnd('tsc', ['-p', join(library, 'tsconfig.declarations.json')]);
  if (status !== 0) throw new Error('the declarations could not be written; see the messages above');
  const results = ['api-extractor.json', 'api-extractor.worker.json'].map((name) =>
    Extractor.invoke(ExtractorConfig.loadFileAndPrepare(join(library, name)), { localBuild: true }),
  );
  rmSync(declarations, { recursive: true, force: true });
  if (!results.every(({ succeeded }) => succeeded)) {
    throw new Error('the declarations could not be joined into one file; see the messages above');
  }
  for (const { extractorConfig } of results) {
    const file = extractorConfig.untrimmedFilePath;
    // `using` is newer than the libraries that most projects name; without theirs, Symbol.dispose would be an error in these files.
    writeFileSync(file, `/// <reference lib="esnext.disposable" />\n${readFileSync(file, 'utf8')}`);
  }
}

await buildLibrary(buildDeclarations);
await build({ configFile, mode: 'playground', logLevel: 'warn' });
