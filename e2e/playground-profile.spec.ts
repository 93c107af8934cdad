import { readFileSync } from 'node:fs';
import { expect, test, type Page } from '@playwright/test';

async function profile(page: Page, device = 'webgpu'): Promise<void> {
  await page.goto('/');
  await page.getByLabel('device').selectOption(device);
  await page.getByRole('tab', { name: 'Call' }).click();
  await page.getByRole('button', { name: 'Profile' }).click();
  await expect(page.getByRole('region', { name: 'Profile' })).toBeVisible();
}

test('a profile shows where a call’s time goes, and each kernel with its lines and its shader', async ({ page }) => {
  await profile(page);
  const figures = page.getByLabel('A warm call', { exact: true });
  await expect(figures.getByRole('definition')).toHaveText(new Array(7).fill(/^[\d.]+ m?s$/));
  await expect(page.getByRole('figure', { name: 'Timeline' })).toContainText('its kernels on the GPU');

  const kernel = page.getByRole('button', { name: 'conv2d' }).first();
  const row = page.getByRole('row', { name: 'conv2d' }).first();
  await expect(row).toContainText('digit_classifier.py:');
  await expect(row).toContainText('FLOP');
  await kernel.click();
  await expect(page.getByRole('region', { name: 'WGSL' })).toContainText('@compute @workgroup_size');
  await kernel.click();
  await expect(page.getByRole('region', { name: 'WGSL' })).toHaveCount(0);
});

test('on the CPU a kernel has its WebAssembly, and how near it comes to what the processor does', async ({ page }) => {
  await profile(page, 'cpu');
  await expect(page.getByRole('figure', { name: 'Timeline' })).toContainText('its kernels in WebAssembly');
  const row = page.getByRole('row', { name: 'conv2d' }).first();
  await expect(row).toContainText('Wasm');
  await expect(row).toContainText('FLOP');
  await expect(row).toContainText('%');
  await page.getByRole('button', { name: 'conv2d' }).first().click();
  await expect(page.getByRole('region', { name: 'WebAssembly' })).toContainText('(func $');
  await page.getByRole('tab', { name: 'Explain' }).click();
  const operators = page.getByRole('table', { name: 'Operators that do work' });
  await expect(operators.getByRole('row', { name: /aten::conv2d/ })).toContainText('Wasm');
});

test('a profile can be saved as a Chrome trace', async ({ page }) => {
  await profile(page);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as a Chrome trace' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe('forward.trace.json');
  const { traceEvents } = JSON.parse(readFileSync(await download.path(), 'utf8')) as {
    traceEvents: { name: string; ph: string; ts: number; dur: number }[];
  };
  expect(traceEvents.filter(({ ph }) => ph === 'M')).toHaveLength(4);
  expect(traceEvents.map(({ name }) => name)).toEqual(expect.arrayContaining(['download', 'submit']));
  expect(traceEvents.find(({ name }) => name === 'read')!.dur).toBeGreaterThan(0);
});

test('the graph before and after each pass is shown as a difference', async ({ page }) => {
  await page.goto('/');
  await page.getByRole('tab', { name: 'Graph' }).click();
  await page.getByLabel('show it').selectOption('pass by pass');
  await expect(page.getByRole('region', { name: 'What inline changed' })).toContainText('− ');
  await expect(page.getByRole('button', { name: 'Back' })).toBeDisabled();
  await page.getByRole('button', { name: 'Next' }).click();
  await expect(page.getByRole('region', { name: 'What fold attributes changed' })).toContainText('prim::GetAttr');
});

test('the graph after passes that are named is shown, and which names there are', async ({ page }) => {
  await page.goto('/');
  await page.getByRole('tab', { name: 'Graph' }).click();
  await page.getByLabel('show it').selectOption('after passes by name');
  await expect(page.getByRole('region', { name: 'Graph' })).toContainText('aten::conv2d', { timeout: 100_000 });
  const names = page.getByLabel('passes, as in');
  await names.fill('inlin');
  await names.press('Enter');
  await expect(page.getByText("there is no pass 'inlin'")).toBeVisible();
});

test('profile and passes fit a phone', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await profile(page);
  await page.getByRole('button', { name: 'conv2d' }).first().click();
  await page.getByRole('tab', { name: 'Graph' }).click();
  await page.getByLabel('show it').selectOption('pass by pass');
  await expect(page.getByRole('region', { name: 'What inline changed' })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});
