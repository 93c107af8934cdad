import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { callAtLengths, programs } from './numbers-of-sizes-fixture.ts';

beforeAll(registerAllParts);

/**
 * Lengths for which nothing was replayed: the first, the second with its sizes open, those that are programs of their own, either side of a branch,
 * and what pays at a size.
 */
const unlike = [20, 21, 1, 0];
const unlikeOf: Record<string, number[]> = {
  int_power: [20, 21, 1],
  arange_of_half: [20, 21, 2, 1, 0],
  branch: [20, 21, 33, 1, 0],
  branch_of_ints: [20, 21, 33, 1, 0],
  sliced: [20, 21, 2, 1, 0],
  small: [20, 21, 1],
  attention: [20, 21, 1000, 1, 0],
};

it.each(programs)('what is made of a size goes to operators as it is each time: %s', async (name) => {
  const device = new WasmDevice();
  const { notReplayed, recordings } = await callAtLengths(name, device, -1);
  expect(notReplayed).toEqual(unlikeOf[name] ?? unlike);
  expect(recordings).toBeLessThanOrEqual(4);
  device.dispose();
});

it.each(programs)('so it does where what is little is computed on the host: %s', async (name) => {
  const device = new WasmDevice();
  await callAtLengths(name, device);
  device.dispose();
});
