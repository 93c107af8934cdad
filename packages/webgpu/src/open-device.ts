import { fetchHardwareSchedules } from '@cresset/tensorexpr';
import { requestGpu, type WebGpuDeviceOptions } from './gpu-access.ts';
import { WebGpuDevice } from './webgpu-device.ts';

/** As `requestWebGpuDevice`, without the part that records work. */
export async function openWebGpuDevice(options: WebGpuDeviceOptions = {}): Promise<WebGpuDevice> {
  const { device, description, capabilities } = await requestGpu(options);
  if (!capabilities.software) await fetchHardwareSchedules();
  return new WebGpuDevice(device, description, capabilities, options.device === undefined);
}
