import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test, type Page } from '@playwright/test';
import { digitsFile } from './digits.ts';

const fixture = (name: string): Buffer =>
  readFileSync(fileURLToPath(new URL(`../packages/archive/fixtures/${name}`, import.meta.url)));

const status = (page: Page) => page.getByRole('region', { name: 'Model' }).getByRole('status');
const runRegion = (page: Page) => page.getByRole('region', { name: 'Run' });

async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.getByLabel('Choose a .pt file…').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
  await expect(status(page)).toContainText(`${name} is ready`);
}

async function compile(page: Page, source: string): Promise<void> {
  const writing = page.getByRole('button', { name: 'Write one' });
  if ((await writing.getAttribute('aria-expanded')) === 'false') await writing.click();
  await page.getByLabel('methods of a module, in TorchScript').fill(source);
  await page.getByRole('button', { name: 'Compile' }).click();
}

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(status(page)).toContainText('digits.pt is ready');
});

for (const name of ['traced.pt', 'frozen.pt']) {
  test(`the first run of ${name} succeeds as the form is`, async ({ page }) => {
    await choose(page, name, fixture(name));
    await runRegion(page).getByRole('button', { name: 'Run', exact: true }).click();
    await expect(runRegion(page).getByRole('status', { name: 'Result' })).toContainText('dtype=');
    await expect(page.getByRole('alert')).toHaveCount(0);
  });
}

test('the first run of the bundled model succeeds as the form is', async ({ page }) => {
  await page.getByRole('tab', { name: 'Call' }).click();
  await expect(page.getByLabel('shape')).toHaveValue(/^1, 1, /);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('status', { name: 'Result' })).toContainText('shape=[1, 10]');
});

test('shapes and numbers that a program checks are in the form, and others are found by trying', async ({ page }) => {
  await compile(
    page,
    `def forward(self, x: Tensor, rate: int) -> Tensor:
    if rate != 16000:
        raise ValueError("rate")
    batch, channels, count = x.shape
    assert channels == 5
    if count % 100 != 0:
        raise ValueError("count")
    return x.mean() * rate
`,
  );
  await expect(status(page)).toContainText('module 1 is ready');
  const rate = page.getByRole('spinbutton', { name: 'rate' });
  await expect(rate).toHaveValue('16000');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(runRegion(page).getByRole('status', { name: 'Result' })).toContainText('dtype=float32');
  await expect(page.getByLabel('shape')).toHaveValue('1, 5, 100');

  await rate.fill('8000');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const alert = runRegion(page).getByRole('alert');
  await expect(alert).toContainText('builtins.ValueError: rate');
  // It was the error of other arguments.
  await rate.fill('16000');
  await expect(alert).toHaveCount(0);
});

test('what was wrong with one model is not shown with the next of the same name', async ({ page }) => {
  await choose(page, 'model.pt', readFileSync(digitsFile));
  await page.getByRole('tab', { name: 'Call' }).click();
  await page.getByLabel('shape').fill('1, 7');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('alert')).toHaveCount(1);
  await choose(page, 'model.pt', fixture('traced.pt'));
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('Save stands beside what it saves, and long names of modules fit a phone', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  const save = (await page.getByRole('button', { name: 'Save' }).boundingBox())!;
  const text = (await status(page).boundingBox())!;
  expect(save.y).toBeLessThan(text.y + text.height);
  expect(save.x).toBeGreaterThanOrEqual(text.x + text.width);

  await page.getByRole('tab', { name: 'Code' }).click();
  const select = page.getByRole('tabpanel').getByRole('combobox');
  await select.evaluate((element) => {
    element.querySelector('option')!.textContent = 'encoder.layers.0.attention.query: torch.nn.modules.linear.Linear';
  });
  const box = (await select.boundingBox())!;
  expect(box.x + box.width).toBeLessThanOrEqual(320);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
});
