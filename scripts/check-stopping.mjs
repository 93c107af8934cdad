// Whether every operator of the host stops often enough on its way for a run to be ended: `pnpm check:stopping [part of a name]`.
//   --sample N      only so many operators
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from 'vite';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { sample: { type: 'string' } } });
const server = await createServer({
  configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { checkStopping } = await server.ssrLoadModule('/packages/operators/checks/stopping.ts');
const sample = values.sample === undefined ? null : Number(values.sample);
if (!checkStopping({ filter: positionals[0] ?? '', sample })) process.exitCode = 1;
await server.close();
