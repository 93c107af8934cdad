import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { callAtNewLengths, programs } from './moving-sizes-fixture.ts';

beforeAll(registerAllParts);

it.each(programs)('nothing is prepared after a hundred calls, though each has another size: %s', async (name) => {
  const device = new WasmDevice();
  const { early, late, recordings } = await callAtNewLengths(name, device, 400);
  expect(early).toBeGreaterThan(0);
  // A range of sizes that did not come before has other schedules.
  expect(late).toBeLessThanOrEqual(2);
  expect(recordings).toBeLessThanOrEqual(4);
  device.dispose();
});
