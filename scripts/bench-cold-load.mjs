// How long a page waits for its first answer that has nothing of the library yet, with this build and with another one, in turns:
//   node scripts/bench-cold-load.mjs DIST [--runs N] [--device webgpu|cpu] [--models LIST|all] [--node]
//   PYTHON=… node scripts/bench-cold-load.mjs --node --models LIST|all     beside PyTorch, whose import is not counted
// DIST is the folder of the other build, `packages/cresset/dist` of an earlier commit. Each run is a browser context of its own, in which the digit
// classifier is loaded and asked once, on the software adapter and on the host. With `--models` it is whole models of ../shared, whose bytes are in memory
// when the time begins, on the host unless a device is named; with `--node` each run is a process of Node, and processor time is that of the thread
// that waits, where it is the whole browser's otherwise; there the greatest memory of the
// process is told as well, beyond what it held before. `pnpm build` comes first. Times differ with whatever else the machine does; both builds are in the same run, and the ratio of their medians is what counts.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { chromium } from 'playwright';
import { firstCalls, modelFolder, modelNames, timeFirstAnswer } from './cold-load/model-calls.mjs';
import { inFreshPage } from './fresh-page.mjs';
import { processorSecondsOf } from './machine/browser-processor-time.mjs';
import { launchOptions } from './machine/gpu-lanes.mjs';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const {
  values: { runs, device: chosenDevices, models, node: inNode },
  positionals: [other],
} = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '10' },
    device: { type: 'string', multiple: true },
    models: { type: 'string' },
    node: { type: 'boolean', default: false },
  },
});
const python = process.env.PYTHON;
if (!other && !(inNode && python))
  throw new Error('what is it to be compared with? Name the folder of another build, or set PYTHON and --node');
if (inNode && !models) throw new Error('which models are to be loaded in Node? Name them with --models');
const names = models === 'all' ? modelNames() : (models?.split(',') ?? ['digits']);
const devices = chosenDevices ?? (models ? ['cpu'] : ['webgpu', 'cpu']);
const digits = JSON.parse(readFileSync(fromRoot('apps/playground/public/models/digits.json'), 'utf8'));

/** Milliseconds from `load` to the answer, in a page that has the library's page module and nothing else of it. */
async function coldDigits(browser, dist, device) {
  const { result } = await inFreshPage(
    browser,
    async ({ drawing: { picture, pictureScale, shape }, device: chosen }) => {
      const { load, tensor } = globalThis.cresset;
      const begin = performance.now();
      const model = await load('/models/digits.pt', { device: chosen });
      const pixels = Float32Array.from(picture, (value) => value / pictureScale);
      const { data } = await model.forward(tensor(pixels, { shape }));
      if (data.length !== 10) throw new Error('the answer is no digit');
      return performance.now() - begin;
    },
    { drawing: digits, device },
    { dist, processorSeconds: await processorSecondsOf(browser) },
  );
  return { clock: result };
}

async function coldModel(browser, dist, device, name) {
  const { path, calls } = firstCalls(name);
  const argument = { address: `/models/${path}`, calls, device };
  const processorSeconds = await processorSecondsOf(browser);
  const { result } = await inFreshPage(browser, timeFirstAnswer, argument, {
    dist,
    folders: { '/models/': modelFolder },
    functions: { processorSeconds },
    processorSeconds,
  });
  return result;
}

async function coldInNode(dist, device, name) {
  const args = [fromRoot('scripts/cold-load/in-node.mjs'), dist, name, device];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

async function coldInPyTorch(name) {
  const { path, calls } = firstCalls(name);
  const script = fromRoot('scripts/cold-load/in-pytorch.py');
  const asked = promisify(execFile)(python, [script, modelFolder + path]);
  asked.child.stdin.end(JSON.stringify(calls));
  return JSON.parse((await asked).stdout);
}

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};

const UNITS = { peak: 'MB' };

/** Both in turns; prints what they took. */
async function compare(label, load, { name: otherName, load: loadOther }) {
  const loads = [load, loadOther];
  const times = loads.map(() => []);
  // The first of each warms the browser itself, and the system's cache of files.
  for (let run = -1; run < Number(runs); run++) {
    for (const [at, each] of loads.entries()) {
      const measured = await each();
      if (run >= 0) times[at].push(measured);
    }
  }
  for (const kind of Object.keys(times[0][0])) {
    const [own, others] = times.map((each) => median(each.map((measured) => measured[kind])));
    const unit = UNITS[kind] ?? 'ms';
    const figures = `${own.toFixed(0)} ${unit}, ${otherName} ${others.toFixed(0)} ${unit}, ratio ${(own / others).toFixed(2)}`;
    console.log(`${label}${kind === 'clock' ? '' : `, ${kind}`}: ${figures}`);
  }
}

const browser = inNode ? null : await chromium.launch(launchOptions);
const ownBuild = fromRoot('packages/cresset/dist/');
try {
  for (const name of names) {
    for (const device of devices) {
      const loadIn = models ? coldModel : coldDigits;
      const loadBuild = (dist) => (inNode ? coldInNode(dist, device, name) : loadIn(browser, dist, device, name));
      const peer = other
        ? { name: 'the other build', load: () => loadBuild(other) }
        : { name: 'PyTorch', load: () => coldInPyTorch(name) };
      await compare(models ? `${name}, ${device}` : device, () => loadBuild(ownBuild), peer);
    }
  }
} finally {
  await browser?.close();
}
