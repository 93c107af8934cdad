// Times runs that take gradients on the device of the host, by the tape alone and with groups of operators: `pnpm bench:training [part of a name …]`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), 'cresset-training-'));
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
// One bundle, as what is published: modules that a development server serves are slower.
await build({
  configFile: path('../vite.config.ts'),
  logLevel: 'error',
  build: {
    outDir,
    ssr: true,
    target: 'node20',
    rolldownOptions: {
      input: { training: path('../packages/cresset/bench/training.ts') },
    },
  },
  ssr: { noExternal: true },
});
const { main } = await import(pathToFileURL(join(outDir, 'training.js')).href);
await main(path('../packages/cresset/src/training/fixtures/'), process.argv.slice(2));
process.exit(0);
