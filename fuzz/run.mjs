// Takes mutated archives, pickles, sources and graphs: `pnpm fuzz -- [--count N] [--seed S]`, options in src/main.ts.
// A failure is told with its seed; `--seed S --count 1` repeats it, and `--seed S --write FILE` writes its input.
import { fileURLToPath } from 'node:url';
import { runBundle } from './run-bundle.mjs';

await runBundle('main.js', ['--seeds', fileURLToPath(new URL('seeds', import.meta.url))]);
