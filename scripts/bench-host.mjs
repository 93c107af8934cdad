// Times products on the host, by the kernel of every page and by WebAssembly: `pnpm bench:host [part of a name]`.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const server = await createServer({
  configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { main } = await server.ssrLoadModule('/packages/operators/bench/products.ts');
main(process.argv[2] ?? '');
await server.close();
