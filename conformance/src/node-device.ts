import { create, globals } from 'webgpu';
import { requestWebGpuDevice } from '@cresset/webgpu';
import type { ComputeDevice } from '@cresset/tensorexpr';

/** A device on whatever adapter Dawn finds in Node. */
export async function openNodeDevice(): Promise<ComputeDevice> {
  Object.assign(globalThis, globals);
  return requestWebGpuDevice({ gpu: create([]) });
}
