import { readFileSync } from 'node:fs';
import { expect, test, type Page } from '@playwright/test';
import { digitsFile } from './digits.ts';

/** Lets a file go over the page, as a hand does that drags it in from a folder. */
async function drop(page: Page, name: string, bytes: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(
    ({ base64, fileName }) => {
      const content = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([content], fileName));
      return data;
    },
    { base64: bytes.toString('base64'), fileName: name },
  );
  await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
  await expect(page.getByText('Drop the .pt file anywhere')).toBeVisible();
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}

const status = (page: Page) => page.getByRole('region', { name: 'Model' }).getByRole('status');

test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await page.getByLabel('device').selectOption('webgpu');
  await expect(status(page)).toContainText('digits.pt is ready on WebGPU');
});

test('classifies what is drawn, while it is drawn', async ({ page }) => {
  const paper = page.getByRole('application', { name: 'Drawing area' });
  const box = (await paper.boundingBox())!;
  const at = (x: number, y: number) => [box.x + x * box.width, box.y + y * box.height] as const;
  await page.mouse.move(...at(0.3, 0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.7, 0.2), { steps: 8 });
  await page.mouse.move(...at(0.45, 0.85), { steps: 12 });
  await page.mouse.up();
  await expect(page.getByText('Looks like a 7')).toBeAttached();
  await expect(page.getByLabel('The last run')).toContainText('WebGPU');
  await expect(page.getByLabel('The last run')).toContainText('in a Worker');
  await page.getByRole('button', { name: 'Clear' }).click();
  await expect(page.getByText('Looks like')).toHaveCount(0);
});

test('knows each of its ten examples', async ({ page }) => {
  for (let digit = 0; digit < 10; digit++) {
    await page.getByRole('button', { name: `Draw a ${digit}` }).click();
    await expect(page.getByText(`Looks like a ${digit}`)).toBeAttached();
  }
});

test('can be drawn in with keys', async ({ page }) => {
  await page.getByRole('application', { name: 'Drawing area' }).focus();
  await page.keyboard.press('Space');
  for (let step = 0; step < 18; step++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await expect(page.getByText('Looks like a 1')).toBeAttached();
});

test('source is compiled, run, compared, saved, and the saved file loaded', async ({ page }) => {
  await page.getByRole('button', { name: 'Write one' }).click();
  const source = page.getByLabel('methods of a module, in TorchScript');
  await source.fill('def forward(self, x: Tensor):\n    return nope(x)\n');
  await page.getByRole('button', { name: 'Compile' }).click();
  await expect(page.getByRole('alert')).toContainText('undefined value nope');
  await expect(page.getByRole('alert')).toContainText('~~~~ <--- HERE');

  await source.fill('def forward(self, n: int = 20):\n    return (torch.ones(n, 100) * 2.0).sum(dim=1)[0]\n');
  await page.getByRole('button', { name: 'Compile' }).click();
  await expect(status(page)).toContainText('module 2 is ready on WebGPU');
  const run = page.getByRole('region', { name: 'Run' });
  await run.getByRole('button', { name: 'Compare with the CPU' }).click();
  await expect(run.getByRole('status', { name: 'Comparison' })).toContainText('All results are the same.');
  await run.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(run.getByRole('status', { name: 'Result' })).toContainText('200');

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe('module-2.pt');
  await drop(page, 'saved.pt', readFileSync(await file.path()));
  await expect(status(page)).toContainText('saved.pt is ready on WebGPU');
  await run.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(run.getByRole('status', { name: 'Result' })).toContainText('200');
});

test('a dropped file is loaded, run from the form, and its result shown', async ({ page }) => {
  await drop(page, 'dropped.pt', readFileSync(digitsFile));
  await expect(status(page)).toContainText('dropped.pt is ready on WebGPU');
  await page.getByRole('tab', { name: 'Call' }).click();
  await page.getByLabel('method').first().selectOption('forward');
  await page.getByLabel('filled with').selectOption('ones');
  await page.getByLabel('shape').fill('2, 1, 40, 40');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const result = page.getByRole('status', { name: 'Result' });
  await expect(result).toContainText('dtype=float32, shape=[2, 10]');
  await expect(page.getByLabel('The last run')).toContainText('WebGPU');
});

test('an error of the program shows its code and the Python trace, and the next run works', async ({ page }) => {
  await page.getByRole('tab', { name: 'Call' }).click();
  await page.getByLabel('filled with').selectOption('zeros');
  await page.getByLabel('shape').fill('1, 1, 28, 28');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('TorchScriptError SCRIPT_RAISED');
  await expect(alert).toContainText('scripts/digits/digit_classifier.py');
  await expect(alert).toContainText('builtins.ValueError: the picture is empty: ink is 1, paper is 0');
  await page.getByLabel('filled with').selectOption('ones');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('status', { name: 'Result' })).toContainText('shape=[1, 10]');
  await expect(alert).toHaveCount(0);
});

test('a bad file shows an error, and the page goes on working', async ({ page }) => {
  await drop(page, 'broken.pt', readFileSync(digitsFile).subarray(0, 100_000));
  await expect(page.getByRole('alert')).toContainText('CressetError');
  await expect(status(page)).toContainText('broken.pt could not be loaded');
  await page.getByRole('button', { name: 'Handwritten digits' }).click();
  await page.getByRole('button', { name: 'Draw a 5' }).click();
  await expect(page.getByText('Looks like a 5')).toBeAttached();
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('a chosen file and an address are loaded too', async ({ page }) => {
  await page.getByLabel('Choose a .pt file…').setInputFiles({
    name: 'chosen.pt',
    mimeType: 'application/octet-stream',
    buffer: readFileSync(digitsFile),
  });
  await expect(status(page)).toContainText('chosen.pt is ready');
  await page.getByLabel('Address of a .pt file').fill('models/digits.pt');
  await page.getByRole('button', { name: 'Load' }).click();
  await expect(status(page)).toContainText('digits.pt is ready');
});

test('shows modules, code, graphs and where operators run', async ({ page }) => {
  await page.getByText('head: Linear').click();
  await expect(page.getByRole('row', { name: 'weight float32 [10, 48] parameter' })).toBeVisible();
  await page.getByRole('tab', { name: 'Code' }).click();
  await expect(page.getByLabel('TorchScript code')).toContainText('def centred(self');
  await page.getByRole('tab', { name: 'Graph' }).click();
  const graph = page.getByRole('region', { name: 'Graph' });
  await expect(graph).toContainText('aten::softmax');
  await page.getByLabel('show it').selectOption('optimized');
  await expect(graph).toContainText('prim::FusionGroup');
  await page.getByRole('tab', { name: 'Explain' }).click();
  const operators = page.getByRole('table', { name: 'Operators that do work' });
  await expect(operators.getByRole('row', { name: /aten::conv2d/ })).toContainText('GPU');
  const groups = page.getByRole('table', { name: /Fused groups/ });
  await expect(groups.getByRole('row', { name: /aten::silu/ })).not.toHaveCount(0);
});

test('the device can be chosen', async ({ page }) => {
  await page.getByRole('combobox', { name: 'device' }).selectOption('CPU');
  await expect(status(page)).toContainText('digits.pt is ready on CPU');
  await page.getByRole('button', { name: 'Draw a 8' }).click();
  await expect(page.getByText('Looks like a 8')).toBeAttached();
});

test('runs by itself for a caller without a window', async ({ page }) => {
  await page.goto('/?headless=1');
  const result = await page.waitForFunction(() => globalThis.__cresset_result);
  expect(await result.jsonValue()).toMatchObject({
    answer: expect.stringContaining('is a 3'),
    // The GPU is a software adapter here.
    device: 'CPU',
    inWorker: true,
    milliseconds: expect.any(Number),
  });
});
