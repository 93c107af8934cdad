// The library's own time in a warm run, on a GPU that does nothing: `pnpm bench:replay [part of a name …]`, over models of ../shared where
// they are there. With `--visits` it is how many functions the first visits of a program call instead, there and on the host, and with
// `--groups` how many launches a warm run makes by who groups its operators.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const names = process.argv.slice(2);
const entry = ['visits', 'groups'].find((other) => names.includes(`--${other}`)) ?? 'replay';
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
    rolldownOptions: { input: path(`../packages/cresset/bench/${entry}.ts`) },
  },
  ssr: { noExternal: true },
});
const { main } = await import(pathToFileURL(join(outDir, `${entry}.js`)).href);
await main(
  path('../../shared/models/'),
  names.filter((name) => !name.startsWith('--')),
);
process.exit(0);
