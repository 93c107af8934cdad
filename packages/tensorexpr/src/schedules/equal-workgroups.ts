import { byPoints, type Launch, type Schedule } from './schedule.ts';

/** Threads of one workgroup. */
export function threadsOf(schedule: Schedule): number {
  return 'threadsM' in schedule ? schedule.threadsM * schedule.threadsN : schedule.workgroupSize;
}

/** Launches dealt out to workgroups of one size, so that one grid can have those of all; tiles may leave threads of them idle. */
export function withEqualWorkgroups(launches: readonly Launch[]): Launch[] {
  const tiles = launches.filter(({ schedule }) => schedule.kind === 'tile');
  const size = Math.max(...(tiles.length > 0 ? tiles : launches).map(({ schedule }) => threadsOf(schedule)));
  return launches.map((launch) => {
    const { kernel, schedule } = launch;
    if (schedule.kind === 'point' && kernel.kind === 'nest') return byPoints(kernel, size, schedule.pointsPerThread);
    return schedule.kind === 'row' || schedule.kind === 'steps'
      ? { ...launch, schedule: { ...schedule, workgroupSize: size } }
      : launch;
  });
}
