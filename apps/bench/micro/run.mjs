// Times TorchScript programs against PyTorch's interpreter: `PYTHON=python3 node apps/bench/micro/run.mjs [parts of names]`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const folder = fileURLToPath(new URL('.', import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), 'cresset-micro-'));
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
// One bundle, as what is published: modules that a development server serves are slower.
await build({
  configFile: fileURLToPath(new URL('../../../vite.config.ts', import.meta.url)),
  logLevel: 'error',
  build: { outDir, ssr: true, target: 'node20', sourcemap: true, rolldownOptions: { input: join(folder, 'main.ts') } },
  ssr: { noExternal: true },
});
const flags = process.execArgv;
const runner = spawn(process.execPath, [...flags, join(outDir, 'main.js'), folder, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
runner.on('exit', (status, signal) => process.exit(signal ? 1 : status));
