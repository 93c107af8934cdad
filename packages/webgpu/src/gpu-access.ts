import { CressetError } from '@cresset/ir';
import type { DeviceCapabilities } from '@cresset/tensorexpr';

/** Why there is no WebGPU device; `code` of the error that `requestWebGpuDevice` throws. */
export type NoWebGpuReason =
  /** The browser (or Node) has no WebGPU. */
  | 'WEBGPU_NO_API'
  /** The page was not loaded over https or from localhost; browsers hide WebGPU there. */
  | 'WEBGPU_INSECURE_CONTEXT'
  /** WebGPU is there, but no GPU it can use: a blocklisted driver, a remote session, a virtual machine. */
  | 'WEBGPU_NO_ADAPTER'
  /** The adapter refused to give a device. */
  | 'WEBGPU_NO_DEVICE';

export interface WebGpuDeviceOptions {
  /** A device of the caller's own. It is used as it is, with the limits it was made with, and never destroyed. */
  readonly device?: GPUDevice;
  /** Which adapter to ask for; the fast one unless told otherwise. */
  readonly powerPreference?: GPUPowerPreference;
  /** Asks for no more than what every adapter has: no features, and the limits that the specification guarantees. */
  readonly defaultLimits?: boolean;
}

/** A device of the browser's, with what is told of it. */
export interface GpuAccess {
  readonly device: GPUDevice;
  /** `WebGPU`, with the adapter's name as far as the browser tells it. */
  readonly description: string;
  /** Without the schedules of hardware, which whoever opens a device fetches. */
  readonly capabilities: DeviceCapabilities;
}

/** Asks the browser for a device with the adapter's largest limits. Throws a CressetError with a `NoWebGpuReason` as its code. */
export async function requestGpu(options: WebGpuDeviceOptions = {}): Promise<GpuAccess> {
  if (options.device) {
    const { device } = options;
    return accessOf(device, device.adapterInfo);
  }
  const powerPreference = options.powerPreference ?? 'high-performance';
  const adapter = await gpuOfBrowser().requestAdapter({ powerPreference });
  if (!adapter) {
    throw new CressetError(
      'WEBGPU_NO_ADAPTER',
      'WebGPU found no GPU it can use: the driver may be blocklisted or hardware acceleration switched off',
    );
  }
  // Timestamps serve profiles.
  const wanted: GPUFeatureName[] = ['shader-f16', 'subgroups', 'timestamp-query'];
  const { defaultLimits = false } = options;
  const requiredFeatures = defaultLimits ? [] : wanted.filter((feature) => adapter.features.has(feature));
  const requiredLimits = defaultLimits ? {} : largestLimits(adapter.limits);
  let device: GPUDevice;
  try {
    device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  } catch (error) {
    throw new CressetError('WEBGPU_NO_DEVICE', `the GPU gave no device: ${messageOf(error)}`, { cause: error });
  }
  return accessOf(device, adapter.info);
}

/** Throws a CressetError with a `NoWebGpuReason` as its code where there is no WebGPU to ask for a GPU. */
export function gpuOfBrowser(): GPU {
  const gpu = typeof navigator === 'undefined' ? undefined : navigator.gpu;
  if (!gpu) throw noApi();
  return gpu;
}

function accessOf(device: GPUDevice, info: AdapterInfo | undefined): GpuAccess {
  return { device, description: describeAdapter(info), capabilities: capabilitiesOf(device, info) };
}

function noApi(): CressetError {
  if (typeof isSecureContext !== 'undefined' && !isSecureContext) {
    return new CressetError(
      'WEBGPU_INSECURE_CONTEXT',
      'WebGPU is only there for pages loaded over https or from localhost',
    );
  }
  return new CressetError('WEBGPU_NO_API', 'this browser has no WebGPU');
}

const limitsWorthRaising = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupsPerDimension',
] as const;

function largestLimits(limits: GPUSupportedLimits): Record<string, number> {
  return Object.fromEntries(limitsWorthRaising.map((name) => [name, limits[name]]));
}

// The parts of GPUAdapterInfo are optional: browsers leave out what would identify a user.
type AdapterInfo = Partial<Pick<GPUAdapterInfo, 'vendor' | 'architecture' | 'description' | 'device'>> & {
  readonly isFallbackAdapter?: boolean;
  readonly subgroupMaxSize?: number;
};

function describeAdapter(info: AdapterInfo | undefined): string {
  const name = info?.description || [info?.vendor, info?.architecture, info?.device].filter(Boolean).join(' ');
  return name ? `WebGPU (${name})` : 'WebGPU';
}

function capabilitiesOf(device: GPUDevice, info: AdapterInfo | undefined): DeviceCapabilities {
  const { limits, features } = device;
  const names = `${info?.vendor} ${info?.architecture} ${info?.description} ${info?.device}`;
  return {
    f16: features.has('shader-f16'),
    subgroupSize: features.has('subgroups') && tellsSubgroups() ? (info?.subgroupMaxSize ?? 0) : 0,
    software: info?.isFallbackAdapter === true || /swiftshader|llvmpipe|lavapipe|basic render/i.test(names),
    hardware: null,
    maxWorkgroupSize: Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
    maxWorkgroupStorage: limits.maxComputeWorkgroupStorageSize,
    maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
    maxBindingBytes: limits.maxStorageBufferBindingSize,
    maxBufferBytes: limits.maxBufferSize,
    maxWorkgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
  };
}

/** Whether shaders may ask which subgroup a thread is in: how threads are dealt out to subgroups is nowhere said. */
const tellsSubgroups = (): boolean =>
  typeof navigator !== 'undefined' && Boolean(navigator.gpu?.wgslLanguageFeatures?.has('subgroup_id'));

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
