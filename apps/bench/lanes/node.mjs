// Runs the bench in this process, with Dawn's WebGPU; see run.mjs.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import { create, globals } from 'webgpu';

const { file, ...choice } = JSON.parse(process.argv[2]);
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
const server = await createServer({
  configFile: fileURLToPath(new URL('../../../vite.config.ts', import.meta.url)),
  mode: 'bench',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { runInNode } = await server.ssrLoadModule('/src/node.ts');
const report = await runInNode(choice);
writeFileSync(file, JSON.stringify({ ...report, environment: `Node ${process.versions.node}` }));
await server.close();
// Libraries leave threads behind.
process.exit(0);
