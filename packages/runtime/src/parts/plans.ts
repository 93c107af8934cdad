import { StretchPlanner } from '../plan/stretch-planner.ts';
import { usePlanner } from '../run/planner.ts';

/** Recordings of what programs do on a device, replayed when they do it again. */
export function register(): void {
  usePlanner((context) => {
    const recorder = context.device?.recorder;
    return recorder ? new StretchPlanner(context, context.device!, recorder) : null;
  });
}
