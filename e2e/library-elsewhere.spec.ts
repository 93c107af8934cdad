import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, type Page } from '@playwright/test';
import { pagesAddress } from './addresses.ts';
import { expectPyTorchsAnswer, runDigits } from './digits.ts';

const dist = fileURLToPath(new URL('../packages/cresset/dist/', import.meta.url));
const otherOrigin = 'https://elsewhere.test/';

/** A page that has the library from another origin, as from a network that distributes packages. */
async function openWithLibraryFromElsewhere(page: Page): Promise<string[]> {
  const warnings: string[] = [];
  page.on('console', (message) => message.type() === 'warning' && warnings.push(message.text()));
  await page.context().route(`${otherOrigin}**`, (route) =>
    route.fulfill({
      body: readFileSync(join(dist, new URL(route.request().url()).pathname)),
      headers: { 'content-type': 'text/javascript', 'access-control-allow-origin': '*' },
    }),
  );
  await page.goto(pagesAddress);
  await page.addScriptTag({
    type: 'module',
    content: `import * as cresset from '${otherOrigin}cresset.js'; globalThis.cresset = cresset;`,
  });
  await page.waitForFunction(() => 'cresset' in globalThis);
  return warnings;
}

test('a library of another origin has a worker of this origin, and shutdown ends it', async ({ page }) => {
  const warnings = await openWithLibraryFromElsewhere(page);
  const run = await runDigits(page, 'models/digits.pt', 'cpu');
  expectPyTorchsAnswer(run);
  expect(run.place).toMatchObject({ thread: 'worker' });
  expect(warnings).toEqual([]);
  expect(page.workers()).toHaveLength(1);
  const ended = page.workers()[0].waitForEvent('close');
  await page.evaluate(() => globalThis.cresset.shutdown());
  await ended;
});

test('without an engine in reach of a worker, it runs in the page, and says what to do about it', async ({ page }) => {
  const warnings = await openWithLibraryFromElsewhere(page);
  await page.evaluate(() => globalThis.cresset.setWorker(() => new Worker('/no-such-worker.js', { type: 'module' })));
  const run = await runDigits(page, 'models/digits.pt', 'cpu');
  expectPyTorchsAnswer(run);
  expect(run.place).toMatchObject({
    thread: 'page',
    threadReason: expect.stringContaining('the worker did not start'),
  });
  expect(warnings).toEqual([expect.stringContaining("setWorker(() => new Worker('/path/to/engine.js'")]);
});
