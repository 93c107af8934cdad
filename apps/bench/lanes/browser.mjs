// Runs the built page of the bench in Chromium, on the GPU that GPU_LANE names; see run.mjs.
import { writeFileSync } from 'node:fs';
import { chromium } from 'playwright';
import { processorSecondsOf } from '../../../scripts/machine/browser-processor-time.mjs';
import { launchOptions } from '../../../scripts/machine/gpu-lanes.mjs';

const { address, file, ...choice } = JSON.parse(process.argv[2]);
const browser = await chromium.launch(launchOptions);
try {
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(error));
  await page.exposeFunction('benchCpuSeconds', await processorSecondsOf(browser));
  await page.exposeFunction('benchProgress', (text) => console.log(`  ${text}`));
  await page.goto(address);
  const report = await page.evaluate(async ({ models, contestants, ...settings }) => {
    const known = await globalThis.bench.list();
    return globalThis.bench.run(
      {
        ...settings,
        models: models ?? known.models.map(({ name }) => name),
        contestants: contestants ?? known.contestants,
      },
      (_report, doing) => doing && globalThis.benchProgress(doing),
    );
  }, choice);
  writeFileSync(file, JSON.stringify({ ...report, environment: `Chromium ${browser.version()}` }));
} finally {
  await browser.close();
}
