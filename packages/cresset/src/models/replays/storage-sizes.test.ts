import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { firstOf, grownFrom, outcomesOf, truthsOf } from './storage-sizes-fixture.ts';

beforeAll(registerAllParts);

it('a recording that reads a storage past a view holds for storages of its size alone', async () => {
  const device = new WasmDevice();
  const makers = [3000, 3000, 3000, 10, 3000].map(firstOf);
  const { got, wanted } = await outcomesOf('beyond', makers, { device, limits: { smallWork: -1 } });
  expect(wanted[6]).toContain('out of bounds for storage of size 40');
  expect(got).toEqual(wanted);
  device.dispose();
});

it('a recording in which a result needs no more memory than there is does not hold where it does', async () => {
  const device = new WasmDevice();
  const { got, wanted } = await outcomesOf('grown', [500, 3000, 1025, 2000, 1100].map(grownFrom), { device });
  expect(got).toEqual(wanted);
  device.dispose();
});

it('what lies behind a view is left alone, whatever its storage was before', async () => {
  const device = new WasmDevice();
  const makers = [1001, 1001, 1001, 1004, 1003, 1001].map(truthsOf);
  const { got, wanted } = await outcomesOf('halved', makers, { device, limits: { smallWork: -1 } });
  expect(got).toEqual(wanted);
  device.dispose();
});
