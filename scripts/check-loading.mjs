// Loads programs with the published library as a page does that has nothing of it yet: node scripts/check-loading.mjs [--verbose] [FOLDER|FILE…]
// Every program gets an engine of its own, so that what one needed is not there for the next; parts come from packages/cresset/dist. It is
// compiled whole, and called as the cases beside it say. Whatever comes of that must come of the library with every part, too.
// Without folders: the corpora beside this project, or else its own files.
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { programsIn } from './loading/programs.mjs';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const corpora = ['models', 'conformance/legacy', 'conformance/jit'].map((path) => fromRoot(`../shared/${path}`));
const own = [
  'apps/playground/public/models',
  'packages/archive/fixtures',
  'packages/runtime/fixtures',
  'packages/cresset/fixtures',
].map(fromRoot);

/** A module once imported stays in its thread's memory, and so do engines. */
const PROGRAMS_A_THREAD = 150;

function inThread(programs) {
  return new Promise((resolve, reject) => {
    const outcomes = [];
    // What programs print is nobody's business here.
    const thread = new Worker(new URL('loading/thread.mjs', import.meta.url), {
      workerData: programs,
      stdout: true,
      stderr: true,
    });
    thread.stdout.resume();
    thread.stderr.resume();
    thread.on('message', (outcome) => outcomes.push(outcome));
    thread.on('error', reject);
    thread.on('exit', () => resolve(outcomes));
  });
}

/** Calls a function on each item, so many at once. */
async function withLimit(items, limit, run) {
  const waiting = items.entries();
  const results = [];
  const next = async () => {
    for (const [at, item] of waiting) results[at] = await run(item);
  };
  await Promise.all(Array.from({ length: limit }, next));
  return results;
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { verbose: { type: 'boolean' } } });
const defaults = corpora.some((path) => existsSync(path)) ? corpora : own;
const programs = (positionals.length > 0 ? positionals : defaults.filter((path) => existsSync(path))).flatMap((path) =>
  programsIn(path),
);
const batches = Array.from({ length: Math.ceil(programs.length / PROGRAMS_A_THREAD) }, (_, at) =>
  programs.slice(at * PROGRAMS_A_THREAD, (at + 1) * PROGRAMS_A_THREAD),
);
const outcomes = (await withLimit(batches, availableParallelism(), inThread)).flat();

const uses = new Map();
for (const { name, parts, difference } of outcomes) {
  for (const { name: part } of parts) uses.set(part, (uses.get(part) ?? 0) + 1);
  if (difference) console.log(`FAILED ${name}: ${difference}`);
  else if (values.verbose) {
    console.log(`${name}: ${parts.map(({ name: part, reason }) => `${part} (${reason})`).join(', ') || 'no part'}`);
  }
}
const failed = outcomes.filter(({ difference }) => difference !== null).length;
const refused = outcomes.filter(({ error }) => error !== null).length;
console.log(`parts and how many programs took them, of ${outcomes.length}:`);
for (const [part, count] of [...uses].sort(([, a], [, b]) => b - a)) console.log(`  ${part.padEnd(16)} ${count}`);
console.log(`${refused} were refused by the library with every part too`);
console.log(`${outcomes.length - failed} passed, ${failed + programs.length - outcomes.length} failed`);
process.exitCode = failed > 0 || outcomes.length < programs.length || programs.length === 0 ? 1 : 0;
