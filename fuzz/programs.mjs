// Makes random programs that write in place, and runs each as written and with everything on: `pnpm fuzz:programs -- [--count N] [--seed S]
// [--device host|threads|webgpu] [--executor simple|profiling|bailouts] [--saved] [--gradients] [--calls N]`, options in src/programs/main.ts. `--seed S --count 1` repeats one.
import { fileURLToPath } from 'node:url';
import { runBundle } from './run-bundle.mjs';

const script = fileURLToPath(new URL('src/programs/pytorch.py', import.meta.url));
await runBundle('programs/main.js', ['--pytorch-script', script]);
