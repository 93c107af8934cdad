import type { WebGpuDevice } from '@cresset/webgpu';
import { requestGpuDevice } from './gpu-device.ts';
import type { RunnerSettings } from './runner-settings.ts';

/** A device on whatever adapter Dawn finds in Node, or on Deno's own. */
export async function openNodeDevice(
  settings: Pick<RunnerSettings, 'defaultLimits' | 'schedules'>,
): Promise<WebGpuDevice> {
  if (!globalThis.navigator?.gpu) {
    const { create, globals } = await import('webgpu');
    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  }
  return requestGpuDevice(settings);
}
