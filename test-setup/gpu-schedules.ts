import { fetchHardwareSchedules, type DeviceCapabilities } from '@cresset/tensorexpr';
import { recordOn, requestWebGpuDevice, WebGpuDevice } from '@cresset/webgpu';

const onGpu = { software: false, hardware: await fetchHardwareSchedules(), host: false } as const;

/** What devices may have that this machine has not, as capabilities that are put in the place of its own: each gets other schedules. */
export const gpuSchedules = {
  software: { software: true, hardware: null },
  hardware: onGpu,
  // No more than the specification guarantees, and fewer threads than that.
  'few threads': { ...onGpu, maxWorkgroupSize: 64, maxWorkgroupStorage: 16384, maxStorageBuffers: 8, subgroupSize: 0 },
} satisfies Record<string, Partial<DeviceCapabilities>>;

export type GpuSchedules = keyof typeof gpuSchedules;

/** This machine's GPU, that schedules as on another one. @param limits what else it is to pass for */
export async function requestWithSchedules(
  schedules: GpuSchedules,
  limits: Partial<DeviceCapabilities> = {},
): Promise<WebGpuDevice> {
  const { gpuDevice, capabilities } = await requestWebGpuDevice();
  const device = new WebGpuDevice(
    gpuDevice,
    schedules,
    { ...capabilities, ...gpuSchedules[schedules], ...limits },
    true,
  );
  recordOn(device);
  return device;
}
