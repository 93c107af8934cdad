import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { create, globals } from 'webgpu';

/** A device on whatever adapter Dawn finds in Node; with `defaultLimits` one that has no more than every adapter has. */
export async function openNodeDevice(defaultLimits: boolean): Promise<WebGpuDevice> {
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  return requestWebGpuDevice({ defaultLimits });
}
