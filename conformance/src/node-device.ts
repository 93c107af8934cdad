import type { ComputeDevice } from '@cresset/tensorexpr';
import { requestWebGpuDevice } from '@cresset/webgpu';
import { create, globals } from 'webgpu';

/** A device on whatever adapter Dawn finds in Node. */
export async function openNodeDevice(): Promise<ComputeDevice> {
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  return requestWebGpuDevice();
}
