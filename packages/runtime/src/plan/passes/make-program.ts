import { workOf, type ComputeDevice, type LaunchRecorder } from '@cresset/tensorexpr';
import type { KeptValues } from '../kept-values.ts';
import type { LaunchProgram } from '../program/launch-program.ts';
import { programOf } from '../program/recorded-program.ts';
import type { Recording } from '../recording/recording.ts';
import { fuseLaunches, launchCost } from './fuse-launches.ts';
import { growInPlace } from './grow-in-place.ts';
import { joinLaunches, orderLaunches } from './join-launches.ts';
import { KeptParameters } from './keep-parameters.ts';
import { planScratch } from './plan-scratch.ts';
import { Regions } from './regions.ts';
import { shortenChains } from './shorten-chains.ts';
import { splitStorages } from './split-storages.ts';
import { storeInPlaces } from './store-in-place.ts';

/** What a program may be made of its recording. */
export interface ProgramLimits {
  /** Null where it is to keep nothing. */
  readonly kept: KeptValues | null;
  /** How much is done in one launch at most, and of what (`RuntimeLimits`). */
  readonly joinedNodes: number;
  readonly joinsHeavy: boolean;
}

/** The program of what was recorded up to the instruction `end`. */
export function makeProgram(
  recording: Recording,
  end: number,
  device: ComputeDevice,
  recorder: LaunchRecorder,
  { kept, ...limits }: ProgramLimits,
): LaunchProgram {
  const recorded = growInPlace(programOf(recording, end, kept), recorder, device.capabilities);
  const optimise = (sharesBuffers: boolean): LaunchProgram | null =>
    optimiseProgram(recorded, device, recorder, { ...limits, room: kept && kept.room, sharesBuffers });
  return optimise(true) ?? optimise(false)!;
}

/** What passes may do with a program. */
export interface PassLimits {
  /** Bytes that may be kept of parameters; null where nothing is to be kept. */
  readonly room: number | null;
  readonly joinedNodes: number;
  readonly joinsHeavy: boolean;
  /** Whether storages may be regions of one buffer. */
  readonly sharesBuffers: boolean;
}

/** A program of fewer launches, which take less memory. Null where they cannot be made with the buffers that storages were to share. */
export function optimiseProgram(
  recorded: LaunchProgram,
  device: Pick<ComputeDevice, 'capabilities' | 'deviceElementSize'>,
  recorder: LaunchRecorder,
  { room, joinedNodes, joinsHeavy, sharesBuffers }: PassLimits,
): LaunchProgram | null {
  const { capabilities } = device;
  // The host does one launch after the other, and binds nothing.
  const joins = joinedNodes > 0 && !capabilities.host;
  const joinsAll = joins && joinsHeavy && !recorded.env;
  let program = joinsAll && sharesBuffers ? splitStorages(recorded) : recorded;
  const parameters = room === null ? null : new KeptParameters(program, room, recorder);
  if (parameters) program = parameters.leaveOut();
  const regions = new Regions(program, {
    capabilities,
    recorder,
    isShared: sharesBuffers,
    isWide: joinsAll,
    parameters,
  });
  program = fuseLaunches(program, capabilities, regions, (kernel) => parameters?.lighten(kernel) ?? kernel);
  if (parameters) program = parameters.addTo(program);
  if (joinsAll) program = shortenChains(program, capabilities, regions);
  program = storeInPlaces(program, regions);
  if (joinsAll) program = orderLaunches(program, { joinedNodes, mayBind: (storages) => regions.join(storages) });
  else if (joins)
    program = orderLaunches(program, {
      joinedNodes,
      mayBind: (storages) => regions.fits(storages),
      isHeavy: ({ launch: { kernel } }) => !kernel || workOf(kernel, capabilities).total > launchCost(capabilities),
    });
  const placed = regions.place(program);
  return placed && planScratch(joinLaunches(placed, recorder), device);
}
