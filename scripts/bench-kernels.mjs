// Times single WebGPU kernels in Node: `pnpm bench:kernels [part of a name] [--schedules NAME]`, beside what the adapter reaches in kernels that do
// nothing else; with `--tuned`, as rules schedule them and as measured schedules do (SHOW_TIMES=1 tells of all that were measured). It needs Dawn's binding and a Vulkan driver, no browser and no network; VK_DRIVER_FILES chooses another driver than the lane's.
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
const options = { schedules: { type: 'string' }, tuned: { type: 'boolean' } };
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const { main } = await server.ssrLoadModule(`/packages/webgpu/bench/${values.tuned ? 'tuning' : 'kernels'}.ts`);
await main(positionals[0] ?? '', values.schedules ?? null);
await server.close();
process.exit(0);
