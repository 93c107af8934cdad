import { extendServices } from '@cresset/ir';
import { StretchPlanner } from '../plan/stretch-planner.ts';
import type { RuntimeServices } from '../services.ts';

/** Recordings of what programs do on a device, replayed when they do it again. */
export function register(): void {
  extendServices<RuntimeServices>({
    planner(context) {
      const recorder = context.device?.recorder;
      return recorder ? new StretchPlanner(context, context.device!, recorder) : null;
    },
  });
}
