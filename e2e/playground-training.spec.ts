import { expect, test } from '@playwright/test';

// Shaders of a training step are compiled at its first, and a software GPU takes its time for each.
test.setTimeout(900_000);

test('a correction is learnt in the page, and the trained model is downloaded', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('region', { name: 'Model' }).getByRole('status')).toContainText('digits.pt is ready');
  const training = page.getByRole('region', { name: 'Training' });
  await expect(training.getByRole('button', { name: 'Train' })).toBeDisabled();
  await page.getByRole('button', { name: 'Draw a 7' }).click();
  await expect(page.getByText('Looks like a 7')).toBeAttached();
  // Three times, against the one example that says otherwise.
  for (let lesson = 0; lesson < 3; lesson++) await training.getByRole('button', { name: 'This is a 1' }).click();
  await expect(training).toContainText('To be learnt: 1, 1, 1');
  await training.getByRole('button', { name: 'Train' }).click();
  await expect(training).toContainText('Step 24 of 24', { timeout: 800_000 });
  await expect(training.getByRole('img', { name: 'Loss of each step' })).toBeVisible();
  await expect(page.getByText('Looks like a 1')).toBeAttached();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save' }).click();
  expect((await download).suggestedFilename()).toBe('digits.pt');
});
