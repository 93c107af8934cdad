import type { Storage, Tensor } from '@cresset/tensor';
import {
  rollTrips,
  type DeviceCapabilities,
  type LaunchRecorder,
  type LoopNest,
  type LoopTrip,
} from '@cresset/tensorexpr';
import { launchStep, stepsOf, withLaunches, type LaunchProgram, type LaunchStep } from '../program/launch-program.ts';
import { fuseLaunches } from './fuse-launches.ts';

/** All trips of a loop, as a program. */
export interface RolledProgram {
  readonly program: LaunchProgram;
  /** What all trips stored in a storage, one trip behind the other. */
  readonly all: ReadonlyMap<Storage, Tensor>;
  /** What the last trip stored. */
  readonly last: ReadonlyMap<Storage, Tensor>;
}

/**
 * Makes the launches of one trip of a loop those of all trips, with the trip's number as an axis. Null where they cannot be rolled.
 *
 * @param program of one trip: what is new in it outlives the trip
 */
export function rollLaunches(
  program: LaunchProgram,
  trip: Omit<LoopTrip, 'nests' | 'isMade'>,
  trips: number,
  capabilities: DeviceCapabilities,
  recorder: LaunchRecorder,
): RolledProgram | null {
  const fused = stepsOf(fuseLaunches(program, capabilities, recorder), 'launch');
  const nests = fused.map(({ launch }) => launch.kernel);
  if (!nests.every((kernel): kernel is LoopNest => kernel?.kind === 'nest')) return null;
  const isMade = (storage: Storage): boolean =>
    ['new', 'scratch'].includes(program.storages.get(storage)?.kind ?? 'given');
  const rolled = rollTrips({ ...trip, nests, isMade }, trips);
  if (!rolled) return null;
  const storages = new Map(program.storages);
  const launches: LaunchStep[] = [];
  for (const kernel of rolled.kernels) {
    const launch = recorder.prepare(kernel);
    if (!launch) return null;
    for (const { operand, layout } of launch.bindings) {
      const { storage } = operand.tensor;
      if (!storages.has(storage)) storages.set(storage, { kind: 'new', dtype: operand.dtype, layout });
    }
    launches.push(launchStep(launch));
  }
  return { program: withLaunches(program, launches, storages), all: rolled.all, last: rolled.last };
}
