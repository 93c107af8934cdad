import { deviceByteLength, type DeviceMemory } from '@cresset/tensor';
import { planMemory } from '../../memory/memory-plan.ts';
import { homeOf, isScratch, stepsOf, withLaunches, type LaunchProgram } from '../program/launch-program.ts';
import { lifetimesOf } from './launch-table.ts';

/** Gives what lies between launches buffers, to those that do not live at a time the same one. */
export function planScratch(program: LaunchProgram, device: Pick<DeviceMemory, 'deviceElementSize'>): LaunchProgram {
  const { storages } = program;
  const launches = stepsOf(program, 'launch');
  const uses = lifetimesOf(launches.map((step) => step.storages.map((storage) => homeOf(program, storage))));
  const scratch = [...uses.keys()].filter((storage) => isScratch(program, storage));
  const { buffers, bufferOf } = planMemory(
    scratch.map((storage) => ({
      ...uses.get(storage)!,
      byteLength: deviceByteLength(device, storages.get(storage)!.dtype, storage.byteLength),
    })),
  );
  const steps = buffers.map((byteLength, buffer) => ({
    op: 'scratch' as const,
    byteLength,
    storages: scratch.filter((_, at) => bufferOf[at] === buffer),
  }));
  return withLaunches(program, launches, storages, steps);
}
