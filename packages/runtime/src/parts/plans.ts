import { extendServices } from '@cresset/ir';
import { StretchPlanner } from '../plan/stretch-planner.ts';
import type { RuntimeServices } from '../services.ts';

/** Recordings of what programs do on a device, replayed when they do it again. */
export function register(): void {
  extendServices<RuntimeServices>({
    planner(context) {
      const { device } = context;
      return device?.recorder ? new StretchPlanner(context, device, device.recorder) : null;
    },
  });
}
