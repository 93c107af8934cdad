// Takes mutated archives, pickles, sources and graphs: `pnpm fuzz -- [--count N] [--seed S]`, options in src/main.ts.
// A failure is told with its seed; `--seed S --count 1` repeats it, and `--seed S --write FILE` writes its input.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const configFile = fileURLToPath(new URL('../vite.config.ts', import.meta.url));
const seeds = fileURLToPath(new URL('seeds', import.meta.url));
// A folder of its own for every run: one that is under way is not disturbed by the next.
const outDir = fileURLToPath(new URL(`dist/${process.pid}`, import.meta.url));
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

await build({ configFile, mode: 'fuzz', logLevel: 'error', build: { outDir } });
const args = ['--enable-source-maps', join(outDir, 'main.js'), '--seeds', seeds, ...process.argv.slice(2)];
const runner = spawn(process.execPath, args, { stdio: 'inherit' });
runner.on('exit', (status, signal) => process.exit(signal ? 1 : status));
