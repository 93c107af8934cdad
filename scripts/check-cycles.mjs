// Whether programs that are loaded, run and disposed of again and again leave nothing behind: `pnpm check:cycles`.
//   --cycles N      how many, 1000 by default
//   --programs N    different programs among them, 50 by default
//   --device NAME   cpu or webgpu (Dawn in Node, which needs a Vulkan driver); both by default, in a process each
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from 'vite';
import { vulkanEnvironment } from './machine/gpu-lanes.mjs';

const { values } = parseArgs({
  options: {
    cycles: { type: 'string', default: '1000' },
    programs: { type: 'string', default: '50' },
    device: { type: 'string' },
  },
});
if (values.device === undefined) {
  const devices = Object.keys(vulkanEnvironment).length > 0 ? ['cpu', 'webgpu'] : ['cpu'];
  for (const device of devices) {
    const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2), '--device', device];
    if (spawnSync(process.execPath, args, { stdio: 'inherit' }).status !== 0) process.exitCode = 1;
  }
} else {
  if (values.device === 'webgpu') {
    const { create, globals } = await import('webgpu');
    Object.assign(process.env, vulkanEnvironment);
    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  }
  const server = await createServer({
    configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
    logLevel: 'error',
  });
  const { checkCycles } = await server.ssrLoadModule('/packages/cresset/checks/cycles.ts');
  const isRight = await checkCycles(values.device, Number(values.cycles), Number(values.programs));
  await server.close();
  process.exit(isRight ? 0 : 1);
}
