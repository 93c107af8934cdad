import type { DeviceCapabilities } from '../device.ts';
import { byPoints, chooseSchedule, type Launch, type Schedule } from './schedule.ts';

/** Threads of one workgroup. */
export function threadsOf(schedule: Schedule): number {
  return 'threadsM' in schedule ? schedule.threadsM * schedule.threadsN : schedule.workgroupSize;
}

/**
 * Launches dealt out to workgroups of one size, so that one grid can have those of all. Tiles may leave threads of them idle, but for shared ones,
 * whose threads wait for each other.
 */
export function withEqualWorkgroups(launches: readonly Launch[], capabilities: DeviceCapabilities): Launch[] {
  const sizesOf = (kind: Schedule['kind'] | null): number[] =>
    launches.filter(({ schedule }) => !kind || schedule.kind === kind).map(({ schedule }) => threadsOf(schedule));
  const [shared, tiles] = [sizesOf('shared tile'), sizesOf('tile')];
  const size = shared.length > 0 ? Math.min(...shared) : Math.max(...(tiles.length > 0 ? tiles : sizesOf(null)));
  return launches.map((launch) => {
    const { kernel, schedule } = launch;
    if (threadsOf(schedule) > size && kernel.kind === 'contraction')
      return chooseSchedule(kernel, { ...capabilities, maxWorkgroupSize: size });
    if (schedule.kind === 'point' && kernel.kind === 'nest') return byPoints(kernel, size, schedule.pointsPerThread);
    if (schedule.kind !== 'row' && schedule.kind !== 'steps') return launch;
    // Threads of a row have more elements of it where there are fewer of them: they keep none then.
    const own = schedule.kind === 'row' && size < schedule.workgroupSize ? { kept: [], steps: 0 } : {};
    return { ...launch, schedule: { ...schedule, workgroupSize: size, ...own } };
  });
}
