import { expect, test } from '@playwright/test';
import { benchAddress } from './addresses.ts';

// Without the other libraries, which only `pnpm bench` installs.
const own = ['Cresset, WebGPU', 'Cresset, host'];

test.beforeEach(async ({ page }) => {
  await page.goto(benchAddress);
  const libraries = page.getByRole('group', { name: 'Libraries' });
  await libraries.getByRole('button', { name: 'none' }).click();
  for (const library of own) await libraries.getByLabel(library).check();
  await page.getByRole('group', { name: 'Models' }).getByRole('button', { name: 'none' }).click();
});

test('a model that was chosen gets a row, and every library that was chosen a time', async ({ page }) => {
  await expect(page.getByRole('button', { name: 'Run' })).toBeDisabled();
  await page.getByLabel('classifier').check();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('status')).toContainText('Measured on');

  const row = page.getByRole('row', { name: 'classifier' });
  await expect(row.getByRole('cell')).toHaveText([/^[\d.]+ ms$/, /^[\d.]+ ms$/]);
  await expect(page.getByText('Why there are gaps')).toHaveCount(0);
});

test('what is asked of WebGPU is counted, from outside of the library', async ({ page }) => {
  await page.getByLabel('softmax').check();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('status')).toContainText('Measured on');
  await page.getByRole('button', { name: 'Asked of WebGPU' }).click();
  // The host asks nothing of it.
  await expect(page.getByRole('row', { name: 'softmax' }).getByRole('cell')).toHaveText([/1 dispatch1 submit/]);
});

test('the page fits a phone', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByLabel('classifier').check();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('status')).toContainText('Measured on');
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});
