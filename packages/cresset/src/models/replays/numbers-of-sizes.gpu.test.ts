import { registerAllParts } from '@cresset/runtime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { requestWithSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { callAtLengths, programs } from './numbers-of-sizes-fixture.ts';

let device: ComputeDevice;

beforeAll(async () => {
  registerAllParts();
  device = await requestWithSchedules('software');
});

afterAll(() => device.dispose());

it.each(programs)('what is made of a size goes to operators as it is each time: %s', async (name) => {
  const { recordings } = await callAtLengths(name, device, -1);
  expect(recordings).toBeLessThanOrEqual(5);
});
