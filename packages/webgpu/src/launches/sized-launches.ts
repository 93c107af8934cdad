import { peek } from '@cresset/tensor';
import {
  chooseSchedule,
  normalise,
  paramsOfNow,
  runningSoftmaxOf,
  scheduleKey,
  type Kernel,
} from '@cresset/tensorexpr';
import { canBind } from './kernel-bindings.ts';
import type { CommandListHost } from './command-lists.ts';
import { gridOf, prepareLaunch, type PreparedKernel } from './prepared-kernel.ts';

/**
 * What makes a kernel with expressions of sizes ready for the sizes of now, as far as its form is the same for these; null where it would be several
 * launches. Its schedule is chosen each time, and where that is the one of the last time, so are its shader and its bindings.
 */
export function sizedLaunch(kernel: Kernel, host: CommandListHost): () => PreparedKernel | null {
  const { capabilities, pipelines } = host;
  if (!canBind(kernel, capabilities)) return () => null;
  const normal = normalise(runningSoftmaxOf(kernel) ?? kernel);
  let last: PreparedKernel | null = null;
  const ofNow = (): PreparedKernel | null => {
    if (!host.device.isOne(kernel, normal)) return null;
    const launch = chooseSchedule(normal, capabilities);
    const grid = gridOf(launch.workgroups, capabilities);
    const before = last?.launches[0];
    const isSame =
      before?.kernel === launch.kernel &&
      scheduleKey(before.schedule) === scheduleKey(launch.schedule) &&
      last!.y > 1 === grid.y > 1;
    if (!isSame) last = prepareLaunch(launch, kernel, capabilities, pipelines);
    return { ...last!, ...grid, params: paramsOfNow(last!.params), launches: [launch] };
  };
  return () => peek(ofNow);
}
