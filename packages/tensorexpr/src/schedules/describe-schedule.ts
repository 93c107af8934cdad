import type { Schedule } from './schedule.ts';

/** A schedule in words, with the numbers that were chosen. */
export function describeSchedule(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'point':
      return `${schedule.pointsPerThread} to a thread, ${schedule.workgroupSize} threads`;
    case 'row':
      return `a row to ${schedule.workgroupSize} threads${schedule.steps > 0 ? ', kept' : ''}${schedule.subgroups ? ', subgroups' : ''}`;
    case 'steps':
      return `a sequence to ${schedule.workgroupSize} threads`;
    case 'tile':
      return `${schedule.tileM}×${schedule.tileN} to a thread, ${schedule.threadsM}×${schedule.threadsN} threads`;
    case 'shared tile': {
      const { tileM, tileN, threadsM, threadsN, left, right } = schedule;
      const vectors = [left, right].filter((side) => side.vectors.includes(true)).length;
      return `${threadsM * tileM}×${threadsN * tileN} shared by ${threadsM}×${threadsN} threads, ${vectors} of 2 sides by vectors`;
    }
    case 'own rows':
      return `${schedule.rows} rows to a thread, ${schedule.workgroupSize} threads`;
    case 'shared rows':
      return `${schedule.threadsM * schedule.rows} rows shared by ${schedule.threadsM}×${schedule.threadsN} threads`;
  }
}
