// Times single WebGPU kernels in Node: `pnpm bench:kernels [part of a name] [--schedules NAME]`, beside what the adapter reaches in kernels that do
// nothing else. It needs Dawn's binding and a Vulkan driver, no browser and no network; VK_DRIVER_FILES chooses another driver than the lane's.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
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
const { values, positionals } = parseArgs({ allowPositionals: true, options: { schedules: { type: 'string' } } });
await main(positionals[0] ?? '', values.schedules ?? null);
await server.close();
process.exit(0);
