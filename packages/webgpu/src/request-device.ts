import { recordOn } from './launches/command-lists.ts';
import type { WebGpuDeviceOptions } from './gpu-access.ts';
import { openWebGpuDevice } from './open-device.ts';
import type { WebGpuDevice } from './webgpu-device.ts';

/** Gives a WebGPU device with the adapter's largest limits. Throws a CressetError with a `NoWebGpuReason` as its code. */
export async function requestWebGpuDevice(options: WebGpuDeviceOptions = {}): Promise<WebGpuDevice> {
  const device = await openWebGpuDevice(options);
  recordOn(device);
  return device;
}
