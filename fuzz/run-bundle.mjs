import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const configFile = fileURLToPath(new URL('../vite.config.ts', import.meta.url));

/** Bundles the fuzzers and starts one with the arguments that this process was given, and ends as it does. */
export async function runBundle(script, ownArguments) {
  // A folder of its own for every run: one that is under way is not disturbed by the next.
  const outDir = fileURLToPath(new URL(`dist/${process.pid}`, import.meta.url));
  process.on('exit', () => rmSync(outDir, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
  await build({ configFile, mode: 'fuzz', logLevel: 'error', build: { outDir } });
  const args = ['--enable-source-maps', join(outDir, script), ...ownArguments, ...process.argv.slice(2)];
  const runner = spawn(process.execPath, args, { stdio: 'inherit' });
  runner.on('exit', (status, signal) => process.exit(signal ? 1 : status));
}
