// The library's own time in a warm run, on a GPU that does nothing: `pnpm bench:replay [model.pt …]`; models of ../shared otherwise.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const server = await createServer({
  configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { main } = await server.ssrLoadModule('/packages/cresset/bench/replay.ts');
await main(process.argv.slice(2));
await server.close();
process.exit(0);
