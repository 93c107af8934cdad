// Times single WebGPU kernels in Node: `pnpm bench:kernels [part of a name]`. VK_DRIVER_FILES chooses another driver.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import { create, globals } from 'webgpu';
import { vulkanEnvironment } from './machine/gpu-lanes.mjs';

Object.assign(process.env, vulkanEnvironment);
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
const server = await createServer({
  configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { main } = await server.ssrLoadModule('/packages/webgpu/bench/kernels.ts');
await main(process.argv[2] ?? '');
await server.close();
process.exit(0);
