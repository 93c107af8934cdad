// Bundles the runner and starts it: `pnpm -s conformance --corpus DIR [options]`, options in src/command-line.ts.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const configFile = fileURLToPath(new URL('../vite.config.ts', import.meta.url));
await build({ configFile, mode: 'conformance', logLevel: 'error' });
if (process.argv.includes('--browser')) await build({ configFile, mode: 'conformance-page', logLevel: 'error' });
const main = fileURLToPath(new URL('dist/main.js', import.meta.url));
const runner = spawn(process.execPath, ['--enable-source-maps', main, ...process.argv.slice(2)], { stdio: 'inherit' });
runner.on('exit', (status, signal) => process.exit(signal ? 1 : status));
