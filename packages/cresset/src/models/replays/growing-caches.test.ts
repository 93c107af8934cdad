import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { callWithGrowingCache, steps, type Step } from './growing-caches-fixture.ts';

beforeAll(registerAllParts);

it.each(Object.keys(steps) as Step[])('a cache grows: %s', async (step) => {
  const device = new WasmDevice();
  const { isGrown, replays } = await callWithGrowingCache(step, device, 70);
  expect(isGrown).toBe(true);
  // Whatever its length, but for lengths that the program itself goes by.
  expect(replays.slice(50).every((each) => each > 0)).toBe(true);
  device.dispose();
});

it('a token moves no other one: rows are moved when they have doubled', async () => {
  const device = new WasmDevice();
  const { allocated, isGrown } = await callWithGrowingCache(
    'attributes that are joined along the third dimension',
    device,
    400,
  );
  expect(isGrown).toBe(true);
  // The input and the result of each call; two caches that are moved while 50 tokens become 400.
  const later = allocated.slice(50);
  expect(later.filter((each) => each > 2).length).toBeLessThanOrEqual(2 * 3);
  device.dispose();
});
