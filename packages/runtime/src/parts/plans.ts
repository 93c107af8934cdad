import { extendServices } from '@cresset/ir';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { StretchPlanner } from '../plan/stretch-planner.ts';
import type { RuntimeServices } from '../services.ts';

/**
 * Recordings of what programs do on a device, replayed when they do it again.
 *
 * @param prepare gives a device what it records with, where it has not got that yet
 */
export function register(prepare: (device: ComputeDevice) => void = () => {}): void {
  extendServices<RuntimeServices>({
    planner(context) {
      const { device } = context;
      if (!device) return null;
      prepare(device);
      return device.recorder && new StretchPlanner(context, device, device.recorder);
    },
  });
}
