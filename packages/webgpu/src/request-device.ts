import { requestGpu, type WebGpuDeviceOptions } from './gpu-access.ts';
import { WebGpuDevice } from './webgpu-device.ts';

/** Gives a WebGPU device with the adapter's largest limits. Throws a CressetError with a `NoWebGpuReason` as its code. */
export async function requestWebGpuDevice(options: WebGpuDeviceOptions = {}): Promise<WebGpuDevice> {
  const { device, description, capabilities } = await requestGpu(options);
  return new WebGpuDevice(device, description, capabilities, options.device === undefined);
}
