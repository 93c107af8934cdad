import { fetchHardwareSchedules } from '@cresset/tensorexpr';
import { requestGpu, type WebGpuDeviceOptions } from './gpu-access.ts';
import { WebGpuDevice } from './webgpu-device.ts';

/** As `requestWebGpuDevice`, without the part that records work. */
export async function openWebGpuDevice(options: WebGpuDeviceOptions = {}): Promise<WebGpuDevice> {
  const { device, description, capabilities } = await requestGpu(options);
  const hardware = capabilities.software ? null : await fetchHardwareSchedules();
  return new WebGpuDevice(device, description, { ...capabilities, hardware }, options.device === undefined);
}
