import { useCallPreparation } from '../dispatch/call-preparation.ts';
import { prepareCall } from '../dispatch/prepared-call.ts';
import { useSingleLoops } from '../kernels/lanes.ts';
import { singleLoops } from '../kernels/single-loops.ts';

/** What makes programs faster whose tensors all are on the host. */
export function register(): void {
  useCallPreparation(prepareCall);
  useSingleLoops(singleLoops);
}
