import { expect, test, type Page } from '@playwright/test';
import { pagesAddress } from './addresses.ts';

/** Calls a method until it is replayed, in a page that measures schedules. Gives how its kernels were scheduled, and whether the part that measures came. */
async function scheduled(page: Page, search: string) {
  const fetched: string[] = [];
  page.on('request', (request) => fetched.push(new URL(request.url()).pathname.split('/').at(-1)!));
  await page.goto(`${pagesAddress}module.html${search}`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const kernels = await page.evaluate(async () => {
    const { createModule, tensor } = globalThis.cresset;
    const module = await createModule('Net', { device: 'webgpu' });
    await module.define(`def forward(self, x):
    return torch.softmax(torch.relu(x @ x), -1)`);
    const x = tensor(
      Float32Array.from({ length: 64 * 64 }, (_, at) => Math.sin(at)),
      { shape: [64, 64] },
    );
    // What the second call records is measured behind it; the third is recorded anew.
    for (let call = 0; call < 4; call++) await module.forward(x);
    const { stretches } = await module.explain();
    await module.dispose();
    return stretches.flatMap((stretch) => stretch.kernels);
  });
  return { kernels, isFetched: fetched.some((name) => name.includes('tuner')) };
}

test('schedules that were measured are there after a reload, with the times of the first visit', async ({ page }) => {
  const usual = await scheduled(page, '');
  expect(usual.isFetched).toBe(false);
  expect(usual.kernels.length).toBeGreaterThan(0);
  for (const { measured } of usual.kernels) expect(measured).toEqual([]);

  const first = await scheduled(page, '?CRESSET_AUTOTUNE=1');
  expect(first.isFetched).toBe(true);
  expect(first.kernels.some(({ measured }) => measured.length > 1)).toBe(true);

  // No two measurings come to the same nanoseconds.
  const second = await scheduled(page, '?CRESSET_AUTOTUNE=1');
  expect(second.kernels).toEqual(first.kernels);

  await page.evaluate(async () => {
    const kept = await caches.open('cresset schedules');
    for (const request of await kept.keys()) await kept.put(request, new Response('{"damaged'));
  });
  const third = await scheduled(page, '?CRESSET_AUTOTUNE=1');
  expect(third.kernels.map(({ label }) => label)).toEqual(first.kernels.map(({ label }) => label));
  expect(third.kernels.some(({ measured }) => measured.length > 1)).toBe(true);
  expect(third.kernels).not.toEqual(first.kernels);
});
