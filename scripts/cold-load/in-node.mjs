// One cold load in this process, which has nothing of the library but its page module: `in-node.mjs DIST MODEL DEVICE`. Prints milliseconds by the clock and
// of the processor in this thread, where the system tells, and by how many MB the process' memory grew at its greatest.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { firstCalls, modelFolder, timeFirstAnswer } from './model-calls.mjs';

const [dist, name, device] = process.argv.slice(2);
const statistics = `/proc/self/task/${process.pid}/schedstat`;
/** Of this thread, not of those that compile and collect garbage beside it. */
const processorSeconds = () =>
  existsSync(statistics) ? Number(readFileSync(statistics, 'utf8').split(' ')[0]) / 1e9 : Number.NaN;

const { path, calls } = firstCalls(name);
const bytes = new Uint8Array(readFileSync(modelFolder + path));
const cresset = await import(pathToFileURL(join(dist, 'cresset.js')).href);
const before = process.memoryUsage.rss();
const times = await timeFirstAnswer({ cresset, bytes, calls, device, processorSeconds });
const peak = (process.resourceUsage().maxRSS * 1024 - before) / 1e6;
console.log(JSON.stringify({ ...times, peak }));
process.exit(0);
