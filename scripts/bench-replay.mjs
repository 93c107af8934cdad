// The library's own time in a warm run, on a GPU that does nothing: `pnpm bench:replay [part of a name …]`, over models of ../shared where
// they are there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), 'cresset-replay-'));
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
// One bundle, as what is published: modules that a development server serves are slower.
await build({
  configFile: path('../vite.config.ts'),
  logLevel: 'error',
  build: {
    outDir,
    ssr: true,
    target: 'node20',
    rolldownOptions: { input: path('../packages/cresset/bench/replay.ts') },
  },
  ssr: { noExternal: true },
});
const { main } = await import(pathToFileURL(join(outDir, 'replay.js')).href);
await main(path('../../shared/models/'), process.argv.slice(2));
process.exit(0);
