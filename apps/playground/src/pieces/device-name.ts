import type { ModelPlace } from 'cresset';

/** Name of the device in few words: `CPU`, `WebGPU (SwiftShader Device)`. */
export function deviceName({ device, description }: ModelPlace): string {
  return device === 'webgpu' ? description : 'CPU';
}

/** What kernels run on there. */
export function kernelPlace({ device, description }: ModelPlace): string {
  if (device === 'webgpu') return 'GPU';
  return description.startsWith('WebAssembly') ? 'Wasm' : 'host';
}
