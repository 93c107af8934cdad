// Measurements of packages/cresset/bench, in this process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** Runs `main` of a file of packages/cresset/bench with arguments, and ends the process. */
export async function benchInNode(name, ...args) {
  const outDir = mkdtempSync(join(tmpdir(), 'cresset-bench-'));
  process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
  // One bundle, as what is published: modules that a development server serves are slower.
  await build({
    configFile: path('../vite.config.ts'),
    logLevel: 'error',
    build: {
      outDir,
      ssr: true,
      target: 'node20',
      rolldownOptions: { input: { [name]: path(`../packages/cresset/bench/${name}.ts`) } },
    },
    ssr: { noExternal: true },
  });
  const { main } = await import(pathToFileURL(join(outDir, `${name}.js`)).href);
  await main(...args);
  process.exit(0);
}
