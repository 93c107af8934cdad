export { recordOn } from './launches/command-lists.ts';
export * from './gpu-access.ts';
export * from './open-device.ts';
export * from './request-device.ts';
export { WebGpuDevice } from './webgpu-device.ts';
