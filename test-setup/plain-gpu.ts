import { fetchHardwareSchedules, type DeviceCapabilities } from '@cresset/tensorexpr';

/** What every WebGPU adapter has, and no more: its guaranteed limits, no features. */
export const plainGpu: DeviceCapabilities = {
  f16: false,
  subgroupSize: 0,
  software: false,
  hardware: await fetchHardwareSchedules(),
  maxWorkgroupSize: 256,
  maxWorkgroupStorage: 16384,
  maxStorageBuffers: 8,
  maxBindingBytes: 2 ** 27,
  maxWorkgroupsPerDimension: 65535,
};

/** The same in software. */
export const softwareGpu: DeviceCapabilities = { ...plainGpu, software: true, hardware: null };
