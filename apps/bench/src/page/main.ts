import { BenchClient } from './bench-client.ts';
import { showBench } from './bench-page.ts';

const client = new BenchClient();
// For scripts/bench.mjs, which drives the page without its controls.
Object.assign(globalThis, { bench: client });
void showBench(document.getElementById('app')!, client);
