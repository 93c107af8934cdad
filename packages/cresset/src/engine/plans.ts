import { register as registerPlans } from '@cresset/runtime/parts/plans';
import { recordOn, WebGpuDevice } from '@cresset/webgpu';

/** Recordings, and what WebGPU keeps of them. */
export function register(): void {
  registerPlans((device) => {
    if (device instanceof WebGpuDevice) recordOn(device);
  });
}
