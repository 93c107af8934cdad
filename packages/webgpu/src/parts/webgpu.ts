/** What computes on a GPU that the browser has given. */
export { WebGpuDevice } from '../webgpu-device.ts';
