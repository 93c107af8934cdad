import { fetchHardwareSchedules } from '@cresset/tensorexpr';
import { gpuOfBrowser, requestGpu, type GpuAccess, type WebGpuDeviceOptions } from './gpu-access.ts';
import type { WebGpuDevice } from './webgpu-device.ts';

/** As `requestWebGpuDevice`, without what records work. What computes is fetched while the browser looks for a GPU. */
export async function openWebGpuDevice(options: WebGpuDeviceOptions = {}): Promise<WebGpuDevice> {
  if (!options.device) gpuOfBrowser();
  const [{ device, description, capabilities }, { WebGpuDevice }] = await Promise.all([
    requestGpu(options).then(withSchedules),
    import('./parts/webgpu.ts'),
  ]);
  return new WebGpuDevice(device, description, capabilities, options.device === undefined);
}

async function withSchedules(access: GpuAccess): Promise<GpuAccess> {
  const { capabilities } = access;
  const hardware = capabilities.software ? null : await fetchHardwareSchedules();
  return { ...access, capabilities: { ...capabilities, hardware } };
}
