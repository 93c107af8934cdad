import { registerAllParts } from '@cresset/runtime';
import { requestWebGpuDevice } from '@cresset/webgpu';
import { beforeAll, expect, it } from 'vitest';
import { firstOf, outcomesOf, truthsOf } from './storage-sizes-fixture.ts';

beforeAll(registerAllParts);

it('a recording that goes by the size of a storage holds for that alone on a GPU', async () => {
  const device = await requestWebGpuDevice();
  const options = { device, limits: { smallWork: -1 } };
  for (const [name, makers] of [
    ['beyond', [3000, 3000, 3000, 10, 3000].map(firstOf)],
    // The last bytes of a storage share a word with nobody; bytes behind a view do.
    ['halved', [1001, 1001, 1001, 1004, 1003, 1001].map(truthsOf)],
  ] as const) {
    const { got, wanted } = await outcomesOf(name, makers, options);
    expect(got).toEqual(wanted);
  }
  device.dispose();
});
