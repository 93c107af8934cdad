import { registerAllParts } from '@cresset/runtime';
import { beforeAll, describe, expect, it } from 'vitest';
import { requestWithSchedules, type GpuSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { callWithGrowingCache, steps, type Step } from './growing-caches-fixture.ts';

beforeAll(registerAllParts);

describe.each<GpuSchedules>(['software', 'hardware'])('with schedules for %s', (schedules) => {
  it.each(Object.keys(steps) as Step[])('a cache grows: %s', async (step) => {
    const device = await requestWithSchedules(schedules);
    const { isGrown } = await callWithGrowingCache(step, device, 24);
    expect(isGrown).toBe(true);
    device.dispose();
  });
});
