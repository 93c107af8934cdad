import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';

/** A device on whatever adapter Dawn finds in Node, or on Deno's own; with `defaultLimits` one that has no more than every adapter has. */
export async function openNodeDevice(defaultLimits: boolean): Promise<WebGpuDevice> {
  if (!globalThis.navigator?.gpu) {
    const { create, globals } = await import('webgpu');
    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  }
  return requestWebGpuDevice({ defaultLimits });
}
