import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { pagesAddress } from './addresses.ts';
import { digitsFile, expectPyTorchsAnswer, runDigits } from './digits.ts';

const whole = readFileSync(digitsFile);

/** The archive with a first entry that claims to be two gigabytes. */
function withLyingSizes(): Buffer {
  const bytes = Buffer.from(whole);
  const directory = bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
  // Uncompressed and compressed size of the first entry of the central directory.
  bytes.writeUInt32LE(0x7fff_0000, directory + 20);
  bytes.writeUInt32LE(0x7fff_0000, directory + 24);
  return bytes;
}

const damaged = [
  { name: 'cut off', bytes: whole.subarray(0, whole.length / 2), code: /^(ZIP|FILE)_/ },
  { name: 'of another kind', bytes: Buffer.from('<!doctype html><title>404</title>'), code: /^(ZIP|FILE)_/ },
  { name: 'empty', bytes: Buffer.alloc(0), code: /^(ZIP|FILE)_/ },
  { name: 'with sizes that lie', bytes: withLyingSizes(), code: /^ZIP_/ },
  // Protocol 2: os.system('x').
  {
    name: 'a pickle that names os.system',
    bytes: Buffer.from('\x80\x02cos\nsystem\nX\x01\x00\x00\x00x\x85R.', 'latin1'),
    code: /^(PICKLE|FILE)_/,
  },
  // Told by bytes beyond ASCII, which a browser's text decoder makes other characters of than Node's does.
  { name: 'gzip', bytes: Buffer.from('\x1f\x8b\x08\0', 'latin1'), code: /^FILE_IS_GZIP$/ },
  { name: 'HDF5', bytes: Buffer.from('\x89HDF\r\n\x1a\n', 'latin1'), code: /^FILE_IS_HDF5$/ },
  { name: 'a NumPy array', bytes: Buffer.from('\x93NUMPY\x01\0', 'latin1'), code: /^FILE_IS_NPY$/ },
  { name: 'a pickle', bytes: Buffer.from('\x80\x04K\x01.', 'latin1'), code: /^FILE_IS_PICKLE$/ },
];

test('a damaged file gives an error with a stable code, and the page goes on working', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  for (const { name, bytes, code } of damaged) {
    const failure = await page.evaluate(async (base64) => {
      const { CressetError, load } = globalThis.cresset;
      const file = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      try {
        await load(file);
        return { isCressetError: false, code: 'none', message: 'it was loaded' };
      } catch (error) {
        const { code: found, message } = error as Error & { code: string };
        return { isCressetError: error instanceof CressetError, code: found, message };
      }
    }, bytes.toString('base64'));
    expect(failure, name).toMatchObject({ isCressetError: true, code: expect.stringMatching(code) });
    expect(failure.message.length, name).toBeGreaterThan(20);
  }
  expectPyTorchsAnswer(await runDigits(page, 'models/digits.pt'));
});

test('a missing file and an abort are told apart', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const outcomes = await page.evaluate(async () => {
    const { load } = globalThis.cresset;
    const outcome = (loading: Promise<unknown>) =>
      loading.then(
        () => 'loaded',
        (error: Error & { code?: string }) => `${error.name} ${error.code}`,
      );
    const controller = new AbortController();
    const aborted = outcome(load('models/digits.pt', { signal: controller.signal }));
    controller.abort();
    return { missing: await outcome(load('models/none.pt')), aborted: await aborted };
  });
  expect(outcomes.missing).toMatch(/DOWNLOAD_/);
  expect(outcomes.aborted).toMatch(/^AbortError/);
});

test('progress rises to the size of the file', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const progress = await page.evaluate(async () => {
    const seen: { loaded: number; total: number | null }[] = [];
    await globalThis.cresset.load('models/digits.pt?ranges=no', { onProgress: (each) => seen.push(each) });
    return seen;
  });
  expect(progress.length).toBeGreaterThan(0);
  expect(progress.map(({ loaded }) => loaded)).toEqual(progress.map(({ loaded }) => loaded).sort((a, b) => a - b));
  expect(progress.at(-1)).toEqual({ loaded: whole.length, total: whole.length });
});
