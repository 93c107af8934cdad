// Times the host, in TypeScript and in WebAssembly, over programs that are all loops: `pnpm bench:host [part of a name]`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), 'cresset-host-'));
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
      input: { loops: path('../packages/cresset/bench/host-loops.ts') },
    },
  },
  ssr: { noExternal: true },
});
const { main } = await import(pathToFileURL(join(outDir, 'loops.js')).href);
await main(process.argv[2] ?? '');
process.exit(0);
