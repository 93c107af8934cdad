import type { DeviceCapabilities } from '../device.ts';
import { bySteps, chooseSchedule, launchOfPoints, type Launch, type Schedule } from './schedule.ts';

/** Threads of one workgroup. */
export function threadsOf(schedule: Schedule): number {
  return 'workgroupSize' in schedule ? schedule.workgroupSize : schedule.threadsM * schedule.threadsN;
}

/**
 * Launches dealt out to workgroups of one size, so that one grid can have those of all. Tiles may leave threads of them idle, but for shared ones and
 * shared sums, whose threads wait for each other.
 */
export function withEqualWorkgroups(launches: readonly Launch[], capabilities: DeviceCapabilities): Launch[] {
  const sizesOf = (...kinds: Schedule['kind'][]): number[] =>
    launches.filter(({ schedule }) => kinds.includes(schedule.kind)).map(({ schedule }) => threadsOf(schedule));
  const [waiting, tiles] = [sizesOf('shared tile', 'split sum'), sizesOf('tile')];
  const all = launches.map(({ schedule }) => threadsOf(schedule));
  const size = waiting.length > 0 ? Math.min(...waiting) : Math.max(...(tiles.length > 0 ? tiles : all));
  return launches.map((launch) => {
    const { kernel, schedule } = launch;
    if (threadsOf(schedule) > size && kernel.kind === 'contraction')
      return chooseSchedule(kernel, { ...capabilities, maxWorkgroupSize: size });
    if (schedule.kind === 'point' && kernel.kind === 'nest')
      return launchOfPoints(kernel, { ...schedule, workgroupSize: size });
    if (kernel.kind === 'recurrence') return bySteps(kernel, size);
    if (schedule.kind !== 'row') return launch;
    // Threads of a row have more elements of it where there are fewer of them: they keep none then.
    if (size < schedule.workgroupSize)
      return { ...launch, kept: [], schedule: { ...schedule, workgroupSize: size, steps: 0 } };
    return { ...launch, schedule: { ...schedule, workgroupSize: size } };
  });
}
