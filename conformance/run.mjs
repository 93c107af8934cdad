// Bundles the runner and starts it: `pnpm -s conformance --corpus DIR [options]`, options in src/command-line.ts.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { denoPath } from '../scripts/machine/gpu-lanes.mjs';

const configFile = fileURLToPath(new URL('../vite.config.ts', import.meta.url));
// A folder of its own for every run: one that is under way is not disturbed by the next.
const outDir = fileURLToPath(new URL(`dist/${process.pid}`, import.meta.url));
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

await build({ configFile, mode: 'conformance', logLevel: 'error', build: { outDir } });
if (process.argv.includes('--browser')) {
  await build({ configFile, mode: 'conformance-page', logLevel: 'error', build: { outDir: join(outDir, 'page') } });
}
const args = ['--enable-source-maps', join(outDir, 'main.js'), ...process.argv.slice(2)];
// The bundle lies elsewhere, and does not find the settings of this machine.
const runner = spawn(process.execPath, args, { stdio: 'inherit', env: { DENO_PATH: denoPath, ...process.env } });
runner.on('exit', (status, signal) => process.exit(signal ? 1 : status));
