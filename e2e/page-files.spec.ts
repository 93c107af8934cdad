import { expect, test } from '@playwright/test';
import { pagesAddress } from './addresses.ts';

/** What a page rarely needs comes from beside the module, for the classic script from beside the script. */
for (const form of ['module', 'script-tag']) {
  for (const policy of ['', 'strict/']) {
    test(`${policy}${form} fetches what it needs of the page's own files, once`, async ({ page }) => {
      const fetched: string[] = [];
      page.on('request', (request) => {
        const file = /\/dist\/(page-[\w-]+\.js)$/.exec(request.url());
        if (file) fetched.push(file[1]!);
      });
      await page.goto(`${pagesAddress}${policy}${form}.html`);
      await page.waitForFunction(() => 'cresset' in globalThis);
      expect(fetched).toEqual([]);

      const found = await page.evaluate(async () => {
        const { cache, estimate, init, tensor, trace } = globalThis.cresset;
        const [{ available }] = await Promise.all([init(), init()]);
        const { fits } = await estimate('models/digits.pt', { device: 'cpu' });
        const model = await trace((x) => x.add(1), [tensor([1, 2])], { device: 'cpu' });
        const sum = (await model.forward(tensor([3, 4]))) as InstanceType<typeof globalThis.cresset.Tensor>;
        return { available, fits, sum: [...sum.data], kept: await cache.entries() };
      });
      expect(found).toEqual({ available: true, fits: true, sum: [4, 5], kept: [] });
      const files = ['page-availability.js', 'page-estimate.js', 'page-file-cache.js', 'page-trace-program.js'];
      expect(fetched.sort()).toEqual(files);
    });
  }
}

test('the module exports what its users are to have, and the script has the same', async ({ page }) => {
  const namesOn = async (form: string): Promise<string[]> => {
    await page.goto(`${pagesAddress}${form}.html`);
    await page.waitForFunction(() => 'cresset' in globalThis);
    return page.evaluate(() => Object.keys(globalThis.cresset).sort());
  };
  const names = await namesOn('module');
  expect(names).toContain('load');
  expect(names.filter((name) => name.length < 4)).toEqual([]);
  expect(await namesOn('script-tag')).toEqual(names);
});
