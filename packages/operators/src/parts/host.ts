import { prepareCall } from '../dispatch/prepared-call.ts';
import { hostKernels } from '../kernels/host-kernels.ts';
import { singleLoops } from '../kernels/loops/single-loops.ts';

/** What makes programs faster whose tensors all are on the host. */
export function register(): void {
  Object.assign(hostKernels, { prepareCall, singleLoops });
}
