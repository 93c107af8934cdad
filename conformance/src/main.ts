import { readFile, writeFile } from 'node:fs/promises';
import { findCases, sampleOf } from './cases/corpus.ts';
import { readCommandLine, usage, type Options } from './runner/command-line.ts';
import { runInBrowser } from './runner/browser-pool.ts';
import { runInProcesses } from './runner/process-pool.ts';
import { report } from './runner/report.ts';
import { mostUsedFallbacks } from './runner/usage-report.ts';

let options: Options;
try {
  options = readCommandLine(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n${usage}`);
  process.exit(2);
}
const cases = sampleOf(await findCases(options.corpus, options.suite), options.sample);
const results = await (options.browser ? runInBrowser : runInProcesses)(cases, options);
if (options.verbose) {
  for (const { id, passed, reason } of results) if (!passed) console.log(`${id}: ${reason}`);
}
console.log(report(results, options.checks, options.tiled !== null));
if (options.usage) console.log(mostUsedFallbacks(results, await readFile(options.usage, 'utf8')));
if (options.json) await writeFile(options.json, `${JSON.stringify(results, null, 1)}\n`);
const passed = results.filter((result) => result.passed).length;
const status = options.require !== null && passed < options.require ? 1 : 0;
// Where the output is a pipe that somebody reads slowly, an end would cut off what waits to be written.
process.stdout.write('', () => process.exit(status));
