// How long a page waits for its first answer that has nothing of the library yet, with this build and with another one, in turns:
//   node scripts/bench-cold-load.mjs DIST [--runs N] [--device webgpu|cpu]
// DIST is the folder of the other build, `packages/cresset/dist` of an earlier commit. Each run is a browser context of its own, in which the digit
// classifier is loaded and asked once, on the software adapter and on the host. `pnpm build` comes first. Times differ with whatever else the machine
// does; both builds are in the same run, and the ratio of their medians is what counts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright';
import { inFreshPage } from './fresh-page.mjs';
import { launchOptions } from './machine/gpu-lanes.mjs';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const {
  values: { runs, device: devices },
  positionals: [other],
} = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '10' },
    device: { type: 'string', multiple: true, default: ['webgpu', 'cpu'] },
  },
});
if (!other) throw new Error('which build is it to be compared with? Name the folder with its files');
const digits = JSON.parse(readFileSync(fromRoot('apps/playground/public/models/digits.json'), 'utf8'));

/** Milliseconds from `load` to the answer, in a page that has the library's page module and nothing else of it. */
async function coldLoad(browser, dist, device) {
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
    { dist },
  );
  return result;
}

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};

const builds = [fromRoot('packages/cresset/dist/'), other];
const browser = await chromium.launch(launchOptions);
try {
  for (const device of devices) {
    const times = builds.map(() => []);
    // The first of each warms the browser itself.
    for (let run = -1; run < Number(runs); run++) {
      for (const [at, dist] of builds.entries()) {
        const milliseconds = await coldLoad(browser, dist, device);
        if (run >= 0) times[at].push(milliseconds);
      }
    }
    const [own, others] = times.map(median);
    console.log(
      `${device}: ${own.toFixed(0)} ms, the other build ${others.toFixed(0)} ms, ratio ${(own / others).toFixed(2)}`,
    );
  }
} finally {
  await browser.close();
}
