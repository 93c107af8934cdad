import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCase } from './case.ts';
import type { ChildMessage } from './message.ts';
import { readSeedFiles } from './seed-files.ts';
import { selfTests } from './self-tests.ts';
import { watchRange } from './watch.ts';

const HANG_MILLISECONDS = 2000;

const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== '--'),
  options: {
    count: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: `${Math.min(2, availableParallelism())}` },
    seeds: { type: 'string' },
    /** Writes the input of the first seed to a file, and takes nothing. */
    write: { type: 'string' },
    json: { type: 'string' },
  },
});

const seedFolder = values.seeds ?? '';
const script = fileURLToPath(new URL('./child.js', import.meta.url));
const first = Number(values.seed);
const count = Number(values.count);

type Failure = Extract<ChildMessage, { failed: number }>;
type Ending = Extract<ChildMessage, { end: number }>;

async function take(from: number, to: number, workers: number, limitMilliseconds: number) {
  const failures: Failure[] = [];
  const endings: Ending[] = [];
  const onMessage = (message: ChildMessage): void => {
    if ('failed' in message) failures.push(message);
    else if ('end' in message) endings.push(message);
  };
  const direction = from <= to ? 1 : -1;
  const lanes = Array.from({ length: workers }, (_, lane) =>
    watchRange({
      script,
      seedFolder,
      first: from + direction * lane,
      last: to,
      step: direction * workers,
      limitMilliseconds,
      onMessage,
    }),
  );
  await Promise.all(lanes);
  return { failures, endings };
}

/** A watch that notices nothing finds nothing: it is shown what it has to notice first. */
async function testWatch(): Promise<void> {
  const { failures } = await take(-1, -selfTests.length, 1, 1000);
  const missed = selfTests.filter((_, index) => !failures.some(({ failed }) => failed === -index - 1));
  if (missed.length > 0) throw new Error(`the watch does not notice ${missed.map(({ target }) => target).join(', ')}`);
}

/** A machine under load can make any case slow: what hangs does so again when it is alone. */
async function confirm(failures: readonly Failure[]): Promise<Failure[]> {
  const confirmed: Failure[] = [];
  for (const failure of failures) {
    const again = await take(failure.failed, failure.failed, 1, HANG_MILLISECONDS);
    confirmed.push(...again.failures);
  }
  return confirmed;
}

function report(endings: readonly Ending[]): void {
  const byTarget =
    Map.groupBy === undefined ? new Map<string, Ending[]>() : Map.groupBy(endings, ({ target }) => target);
  for (const ending of Map.groupBy === undefined ? endings : []) {
    byTarget.set(ending.target, [...(byTarget.get(ending.target) ?? []), ending]);
  }
  for (const [target, cases] of byTarget) {
    const results = cases.filter(({ outcome }) => outcome === 'result').length;
    const total = cases.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
    const slowest = cases.reduce((a, b) => (a.milliseconds > b.milliseconds ? a : b));
    const largest = cases.reduce((a, b) => (a.bytes > b.bytes ? a : b));
    console.log(
      `${target.padEnd(12)} ${cases.length} cases, ${results} with a result; ${(total / cases.length).toFixed(1)} ms each, slowest ${slowest.milliseconds.toFixed(0)} ms (seed ${slowest.end}), most memory ${(largest.bytes / 2 ** 20).toFixed(0)} MiB (seed ${largest.end})`,
    );
  }
}

if (values.write !== undefined) {
  writeFileSync(values.write, makeCase(first, readSeedFiles(seedFolder)).input);
} else {
  await testWatch();
  const start = performance.now();
  const { failures, endings } = await take(first, first + count - 1, Number(values.workers), HANG_MILLISECONDS);
  const confirmed = await confirm(failures);
  report(endings);
  for (const { failed, reason } of confirmed.slice(0, 20)) console.log(`\nseed ${failed}: ${reason}`);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(confirmed, null, 1));
  const seconds = (performance.now() - start) / 1000;
  console.log(`\n${count} mutated inputs from seed ${first} in ${seconds.toFixed(0)} s: ${confirmed.length} failed`);
  process.exitCode = confirmed.length === 0 ? 0 : 1;
}
