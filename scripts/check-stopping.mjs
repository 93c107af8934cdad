// Whether every operator of the host stops often enough on its way for a run to be ended: `pnpm check:stopping [part of a name]`.
//   --sample N      only so many operators, spread over all of them
//   --share I/N     the I-th of N parts, for so many processes at once
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from 'vite';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, share: { type: 'string' } },
});
const server = await createServer({
  configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { checkStopping } = await server.ssrLoadModule('/packages/operators/checks/stopping.ts');
const sample = values.sample === undefined ? null : Number(values.sample);
const [at, of] = (values.share ?? '1/1').split('/').map(Number);
// What Linux tells of the time that the main thread has computed, in nanoseconds.
const ownTime = '/proc/self/schedstat';
const clock = existsSync(ownTime) ? () => Number(readFileSync(ownTime, 'latin1').split(' ')[0]) / 1e6 : null;
if (!checkStopping({ filter: positionals[0] ?? '', sample, share: { of, at: at - 1 }, clock })) process.exitCode = 1;
await server.close();
