import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { requestWithSchedules } from '../../../test-setup/gpu-schedules.ts';
import type { RunnerSettings } from './runner-settings.ts';

/** A device of this place's WebGPU; with `defaultLimits` one that has no more than every adapter has. */
export const requestGpuDevice = ({
  defaultLimits,
  schedules,
}: Pick<RunnerSettings, 'defaultLimits' | 'schedules'>): Promise<WebGpuDevice> =>
  schedules ? requestWithSchedules(schedules) : requestWebGpuDevice({ defaultLimits });
