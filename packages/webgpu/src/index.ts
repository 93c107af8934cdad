export * from './gpu-access.ts';
export * from './request-device.ts';
export { WebGpuDevice } from './webgpu-device.ts';
