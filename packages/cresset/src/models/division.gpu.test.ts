import { requestWebGpuDevice } from '@cresset/webgpu';
import { describe, it } from 'vitest';
import { expectDivisionsByZeroRaise } from './division-cases-fixture.ts';

describe('a division of integers by zero', () => {
  it('raises on a GPU', async () => {
    const device = await requestWebGpuDevice();
    await expectDivisionsByZeroRaise({ device, limits: { smallWork: -1 } });
    device.dispose();
  });
});
