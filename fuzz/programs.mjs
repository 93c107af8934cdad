// Makes random programs that write in place, and runs each as written and with everything on: `pnpm fuzz:programs -- [--count N] [--seed S]
// [--device host|threads|webgpu] [--executor simple|profiling|bailouts]`, options in src/programs/main.ts. `--seed S --count 1` repeats one.
import { runBundle } from './run-bundle.mjs';

await runBundle('programs/main.js', []);
