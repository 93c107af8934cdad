import { expect, test } from '@playwright/test';
import { pagesAddress, playgroundAddress } from './addresses.ts';
import { expectPyTorchsAnswer, runDigits } from './digits.ts';

test('without a GPU the host device gives the answer and says why it was taken', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  const run = await runDigits(page, 'models/digits.pt', 'auto');
  expectPyTorchsAnswer(run);
  expect(run.place).toMatchObject({ device: 'cpu', thread: 'worker' });
  expect(run.place.reason).not.toBe('');
  // Launches on the host are counted like those on a GPU, to which nothing is submitted.
  expect(run.profile.submits).toBe(0);
});

test('without a GPU init gives a typed reason, and asking for WebGPU rejects', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const { found, refused } = await page.evaluate(async () => {
    const { init, load } = globalThis.cresset;
    const loading = load('models/digits.pt', { device: 'webgpu' });
    return {
      found: await init(),
      refused: await loading.then(
        () => null,
        (error: Error & { code?: string }) => ({ code: error.code, message: error.message }),
      ),
    };
  });
  expect(found).toMatchObject({ available: false, reason: expect.stringMatching(/^(no-adapter|no-webgpu-api)$/) });
  expect(refused?.code).toMatch(/^WEBGPU_/);
});

test('without a GPU the playground says so and classifies on the CPU', async ({ page }) => {
  await page.goto(playgroundAddress);
  await expect(page.getByRole('note')).toContainText('No GPU to compute on');
  await page.getByRole('button', { name: 'Draw a 3' }).click();
  await expect(page.getByText('Looks like a 3')).toBeAttached();
  await expect(page.getByLabel('The last run')).toContainText('CPU');
});
