import { registerAllParts } from '@cresset/runtime';
import { beforeAll, describe, expect, it } from 'vitest';
import { requestWithSchedules, type GpuSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { callAtLengths } from './moving-sizes-fixture.ts';

beforeAll(registerAllParts);

describe.each<GpuSchedules>(['software', 'hardware'])('with schedules for %s', (schedules) => {
  it.each(['rows', 'attention', 'windows', 'arranged', 'divided', 'rearranged', 'resized', 'recurrent', 'pooled'])(
    'a recording holds for any size: %s',
    async (name) => {
      const device = await requestWithSchedules(schedules);
      const { recordings } = await callAtLengths(name, device);
      expect(recordings).toBeLessThanOrEqual(8);
      device.dispose();
    },
  );
});
