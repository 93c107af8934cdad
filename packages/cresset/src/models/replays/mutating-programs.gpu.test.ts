import { registerAllParts } from '@cresset/runtime';
import { requestWebGpuDevice } from '@cresset/webgpu';
import { beforeAll, expect, it } from 'vitest';
import { wrongCalls } from './mutating-programs-fixture.ts';

beforeAll(registerAllParts);

it('programs that write over what they read give on a GPU what their operators give one by one', async () => {
  const device = await requestWebGpuDevice();
  expect(await wrongCalls(2000, 4, { device })).toEqual([]);
  device.dispose();
});
