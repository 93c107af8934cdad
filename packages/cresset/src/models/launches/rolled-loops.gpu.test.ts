import { registerAllParts } from '@cresset/runtime';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { requestWithSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { argumentsOf, compared, scanArguments } from './rolled-loops-fixture.ts';

let device: WebGpuDevice;
beforeAll(registerAllParts);
beforeEach(async () => {
  device = await requestWebGpuDevice();
});
afterEach(() => device.dispose());

it.each([
  ['states', 3],
  ['rows_of_state', 2],
  ['two_states', 2],
  ['written', 3],
  ['integers', 2],
  ['each', 2],
])('the trips of a loop are done at once: %s', async (name, launches) => {
  expect(await compared(device, name, argumentsOf)).toBe(launches);
});

it('so they are of a scan, by the schedules of hardware too', async () => {
  expect(await compared(device, 'selective_scan', scanArguments)).toBe(3);
  const hardware = await requestWithSchedules('hardware');
  expect(await compared(hardware, 'selective_scan', scanArguments)).toBe(3);
  hardware.dispose();
});
