import { readFileSync } from 'node:fs';
import { expect, test, type Page } from '@playwright/test';
import {
  serveArchive,
  SyntheticArchive,
  type ArchiveServer,
  type ServerOptions,
} from '../test-setup/synthetic-archive.ts';
import { pagesAddress } from './addresses.ts';
import { digitsFile, expectPyTorchsAnswer, runDigits } from './digits.ts';

const file = readFileSync(digitsFile);
const digits = {
  size: file.length,
  bytes: (offset: number, length: number) => new Uint8Array(file.subarray(offset, offset + length)),
};

let server: ArchiveServer;
test.afterEach(() => server.close());

async function serveDigits(options: ServerOptions = {}): Promise<void> {
  server = await serveArchive(digits, options);
}

async function visit(page: Page): Promise<string[]> {
  const warnings: string[] = [];
  page.on('console', (message) => message.type() === 'warning' && warnings.push(message.text()));
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  return warnings;
}

/** Loads with the cache; null, or the error's code. */
function loadCached(page: Page, worker = true): Promise<string | null> {
  return page.evaluate(
    async ([url, inWorker]) => {
      try {
        const model = await globalThis.cresset.load(url, { cache: true, device: 'cpu', worker: inWorker });
        await model.dispose();
        return null;
      } catch (error) {
        return (error as { code: string }).code;
      }
    },
    [server.url, worker] as const,
  );
}

const entries = (page: Page) => page.evaluate(() => globalThis.cresset.cache.entries());

test('a model that was kept is there at the second visit, without its server', async ({ context, page }) => {
  await serveDigits();
  await visit(page);
  expect(await loadCached(page)).toBeNull();
  expect(await entries(page)).toEqual([{ url: server.url, size: digits.size, stored: digits.size }]);
  await page.close();

  const sent = server.sent.bytes;
  const second = await context.newPage();
  await visit(second);
  expect(await loadCached(second)).toBeNull();
  expect(server.sent.bytes - sent).toBe(1);
  await second.close();

  server.close();
  const third = await context.newPage();
  await visit(third);
  expectPyTorchsAnswer(await runDigits(third, server.url, 'cpu', true));
  expect(await third.evaluate((url) => globalThis.cresset.cache.delete(url), server.url)).toBe(true);
  expect(await entries(third)).toEqual([]);
  expect(await loadCached(third)).toBe('DOWNLOAD_FAILED');
});

test('a model that runs in the page is kept too', async ({ page }) => {
  await serveDigits();
  await visit(page);
  expect(await loadCached(page, false)).toBeNull();
  expect(await entries(page)).toMatchObject([{ stored: digits.size }]);
  server.close();
  expect(await loadCached(page, false)).toBeNull();
  expect(await loadCached(page, true)).toBeNull();
  expect(page.workers()).toHaveLength(1);
});

test('two tabs load and keep the same model at a time', async ({ context, page }) => {
  await serveDigits();
  const other = await context.newPage();
  await Promise.all([visit(page), visit(other)]);
  expect(await Promise.all([loadCached(page), loadCached(other), loadCached(page)])).toEqual([null, null, null]);
  server.close();
  expect(await loadCached(other)).toBeNull();
});

test('a download that breaks off is not taken for the file at the next visit', async ({ page }) => {
  let breaks = true;
  await serveDigits({
    ranges: false,
    intercept(_, response) {
      if (!breaks) return false;
      response.writeHead(200, { 'access-control-allow-origin': '*', 'content-length': digits.size });
      response.write(digits.bytes(0, 50_000), () => response.destroy());
      return true;
    },
  });
  await visit(page);
  expect(await loadCached(page)).toMatch(/^DOWNLOAD_/);
  breaks = false;
  expect(await loadCached(page)).toBeNull();
});

test('a full disk costs the cache and not the model, with one warning that has the numbers', async ({
  context,
  page,
}) => {
  await serveDigits();
  const session = await context.newCDPSession(page);
  const warnings = await visit(page);
  await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(pagesAddress).origin, quotaSize: 1000 });
  expect(await loadCached(page)).toBeNull();
  expect(warnings.filter((text) => /cannot be kept.*uses \d+ of the \d+ bytes/.test(text))).toHaveLength(1);
  await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(pagesAddress).origin });
  expect(await loadCached(page)).toBeNull();
});

test('of a model of a gigabyte no more is read than a method needs', async ({ page }) => {
  const large = new SyntheticArchive(
    [
      { name: 'huge', shape: [1 << 14, 1 << 14], value: 3 },
      { name: 'small', shape: [4], value: 0.5 },
    ],
    '  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return torch.mul(x, self.small)\n',
  );
  server = await serveArchive(large);
  await visit(page);
  const result = await page.evaluate(async (url) => {
    const { load, tensor } = globalThis.cresset;
    const model = await load(url);
    const product = (await model.forward(tensor([1, 2, 3, 4]))) as InstanceType<typeof globalThis.cresset.Tensor>;
    await model.dispose();
    return product.tolist();
  }, server.url);
  expect(result).toEqual([0.5, 1, 1.5, 2]);
  expect(large.size).toBeGreaterThan(2 ** 30);
  expect(server.sent.bytes).toBeLessThan(1e6);
});
