import type { DeviceCapabilities } from '../device.ts';
import type { Schedule } from './schedule.ts';
import type { ScheduledLaunch } from './scheduled-launch.ts';

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
    case 'split sum': {
      const { tileM, tileN, threadsN, threadsK, depth, subgroups } = schedule;
      const how = threadsK === 1 ? '' : subgroups ? ', subgroups' : ', a tree';
      const columns = `${tileM}×${tileN} to a thread, ${threadsN} columns of threads`;
      return `${columns}, ${threadsK} threads to a sum${depth > 1 ? `, ${depth} steps each` : ''}${how}`;
    }
    case 'own rows':
      return `${schedule.rows} rows to a thread, ${schedule.workgroupSize} threads`;
    case 'shared rows':
      return `${schedule.threadsM * schedule.rows} rows shared by ${schedule.threadsM}×${schedule.threadsN} threads`;
  }
}

/** Why a kernel was scheduled like that: its extents, the rule that they meet, and what the device has. */
export function whyScheduled(launch: ScheduledLaunch, capabilities: DeviceCapabilities): string {
  const { schedule, extents, measured, isByRule } = launch;
  const { software, maxWorkgroupSize, maxWorkgroupStorage, subgroupSize } = capabilities;
  const shape = shapeOf(schedule, extents);
  if (measured)
    return `${shape}; measured: ${isByRule ? 'nothing is clearly faster than the rule' : 'clearly faster than the rule'}`;
  if (software) return `${shape}; on a software adapter threads share nothing, since to wait costs more`;
  const subgroups = subgroupSize > 0 ? `subgroups of at most ${subgroupSize}` : 'no subgroups';
  const limits = `${maxWorkgroupSize} threads and ${maxWorkgroupStorage} bytes a workgroup at most, ${subgroups}`;
  return `${shape}; ${ruleOf(schedule, extents)}; ${limits}`;
}

/** What was measured of a launch, in words and microseconds. */
export function describeMeasured({
  measured = [],
  cut,
}: ScheduledLaunch): { schedule: string; microseconds: number }[] {
  const schedules = measured.map((each) => ({ ...each, name: describeSchedule(each.schedule) }));
  const cuts = (cut?.measured ?? []).map((each) => ({
    ...each,
    name: `its sum in ${each.chunks} ${each.chunks === 1 ? 'chunk' : 'chunks'}`,
  }));
  return [...schedules, ...cuts].map(({ name, nanoseconds }) => ({ schedule: name, microseconds: nanoseconds / 1000 }));
}

const several = (count: number, what: string): string => (count === 1 ? what : `${count} times ${what}`);

function shapeOf({ kind }: Schedule, [first, second, third, fourth]: readonly number[]): string {
  switch (kind) {
    case 'point':
    case 'row':
      return second > 1 ? `${first} points of ${second} steps` : `${first} points`;
    case 'steps':
      return several(first, `${second} points in each of ${third} steps`);
    case 'tile':
    case 'shared tile':
    case 'split sum':
      return several(first, `${second}×${third} results over ${fourth} steps`);
    case 'own rows':
    case 'shared rows':
      return several(first, `${second} rows of ${third} columns over ${fourth} positions`);
  }
}

function ruleOf(schedule: Schedule, [, steps]: readonly number[]): string {
  switch (schedule.kind) {
    case 'point':
      return steps > 1 ? 'points enough for all threads, or few steps to share' : 'no steps to share';
    case 'row':
      return `steps enough to share${schedule.steps > 0 ? ', and registers have room for a row' : ''}`;
    case 'steps':
      return 'a step waits for the one before it';
    case 'tile':
      return 'too few steps to share, or a side that is a sum for each element';
    case 'shared tile':
      return 'the largest tile that leaves threads enough and is at least half filled, or the smallest';
    case 'split sum':
      return 'few rows or columns, whose sums threads share as far as threads are wanting';
    case 'own rows':
    case 'shared rows':
      return 'a block of rows that fits into a workgroup';
  }
}
