import type { DeviceCapabilities } from './device.ts';
import { FreeAxes } from './expr-children.ts';
import type { AxisExpr } from './expr.ts';
import { extentOf, pointsOf } from './index-value.ts';
import type { LoopNest } from './kernel.ts';
import { reductionsIn, type NormalContraction, type NormalKernel } from './normalise.ts';

/** One thread for each point of the nest's axes; reductions and inner axes are loops inside it. */
export interface PointSchedule {
  readonly kind: 'point';
  readonly workgroupSize: number;
}

/** One workgroup for each point of the nest's axes: its threads share reductions and inner axes. */
export interface RowSchedule {
  readonly kind: 'row';
  readonly workgroupSize: number;
}

/** Every thread of a Contraction sums up a tile of `tileM` by `tileN` results in registers. */
export interface TileSchedule {
  readonly kind: 'tile';
  /** Threads of a workgroup along n, next to each other in memory, and along m. */
  readonly threadsN: number;
  readonly threadsM: number;
  readonly tileM: number;
  readonly tileN: number;
}

export type Schedule = PointSchedule | RowSchedule | TileSchedule;

/** A schedule with the size of its grid for this launch. No workgroups at all: there is nothing to do. */
export interface Launch {
  readonly schedule: Schedule;
  readonly workgroups: number;
}

/** What of a schedule is part of a shader. */
export function scheduleKey(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'point':
      return `p${schedule.workgroupSize}`;
    case 'row':
      return `r${schedule.workgroupSize}`;
    case 'tile':
      return `t${schedule.threadsN},${schedule.threadsM},${schedule.tileM},${schedule.tileN}`;
  }
}

/** Chooses how a kernel is spread over a device's threads, from its extents in this launch. */
export function chooseSchedule(kernel: NormalKernel, capabilities: DeviceCapabilities): Launch {
  return kernel.kind === 'nest' ? scheduleNest(kernel, capabilities) : scheduleContraction(kernel, capabilities);
}

/** Below this many rows a GPU has too few threads to give each row only one. */
const manyRows = 16384;

function scheduleNest(nest: LoopNest, capabilities: DeviceCapabilities): Launch {
  const points = pointsOf(nest.axes);
  const inner = pointsOf(nest.innerAxes);
  const row = Math.max(inner, longestReduction(nest));
  const parallelRow = capabilities.software ? points < 8 && row >= 256 : row >= 32 && (points < manyRows || row >= 512);
  if (points > 0 && parallelRow) {
    const largest = Math.min(256, capabilities.maxWorkgroupSize);
    let workgroupSize = 32;
    while (workgroupSize < largest && workgroupSize * 4 <= row) workgroupSize *= 2;
    return { schedule: { kind: 'row', workgroupSize }, workgroups: points };
  }
  const workgroupSize = Math.min(64, capabilities.maxWorkgroupSize);
  return { schedule: { kind: 'point', workgroupSize }, workgroups: Math.ceil(points / workgroupSize) };
}

/** The most steps among reductions that are worked out once for a point of the nest's axes; 0 where there is none. */
function longestReduction(nest: LoopNest): number {
  const inner = new Set<AxisExpr>(nest.innerAxes);
  const freeAxes = new FreeAxes();
  let longest = 0;
  for (const reduce of reductionsIn(nest.stores.flatMap((store) => [store.offset, store.value]))) {
    if ([...freeAxes.of(reduce)].some((axis) => inner.has(axis))) continue;
    longest = Math.max(longest, pointsOf(reduce.axes));
  }
  return longest;
}

function scheduleContraction(kernel: NormalContraction, capabilities: DeviceCapabilities): Launch {
  const m = extentOf(kernel.m);
  const n = extentOf(kernel.n);
  const tileM = m >= 4 ? 4 : m >= 2 ? 2 : 1;
  const tileN = n >= 256 ? 4 : 1;
  const threadsN = Math.min(n <= 8 ? 8 : n <= 16 ? 16 : 32, capabilities.maxWorkgroupSize);
  const threadsM = capabilities.software ? 1 : Math.max(1, Math.min(8, Math.ceil(m / tileM)));
  const tiles = Math.ceil(m / (tileM * threadsM)) * Math.ceil(n / (tileN * threadsN));
  return { schedule: { kind: 'tile', threadsN, threadsM, tileM, tileN }, workgroups: pointsOf(kernel.batch) * tiles };
}
