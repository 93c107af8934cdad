import type { DeviceCapabilities } from '../device.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { expressionsOf, type LoopNest, type Recurrence } from '../kernels/kernel.ts';
import { tallTile } from '../kernels/kernel-work.ts';
import type { NormalContraction, NormalForm } from '../kernels/normalise.ts';
import type * as hardwareSchedules from './hardware-schedules.ts';
import { blockedSums } from './reduction-stages.ts';
import { isReduced, reductionsIn } from '../expressions/walk.ts';
import { scheduleRunningSoftmax } from './running-softmax-schedule.ts';

/** Threads for the points of the nest's axes; reductions and inner axes are loops inside a thread. */
export interface PointSchedule {
  readonly kind: 'point';
  readonly workgroupSize: number;
  /** Points a thread takes, `workgroupSize` apart from each other. */
  readonly pointsPerThread: number;
}

/** One workgroup for each point of the nest's axes: its threads share reductions and inner axes. */
export interface RowSchedule {
  readonly kind: 'row';
  readonly workgroupSize: number;
  /** What several loops need of each element of a row, which a thread keeps; where there is any, all loops go along the same axis. */
  readonly kept: readonly Expr[];
  /** Elements that a thread has at most then, `workgroupSize` apart; 0: loops are any length. */
  readonly steps: number;
  /** Threads of a subgroup reduce among themselves before those of a workgroup do. */
  readonly subgroups: boolean;
}

/** One workgroup for each point of a Recurrence's axes: its threads share the points of a step, and wait for each other after it. */
export interface StepsSchedule {
  readonly kind: 'steps';
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
  /** Results are stored in a loop that must stay one: unrolled, it takes a software adapter seconds to compile. */
  readonly rolled: boolean;
}

/** How a side of a product comes into workgroup memory. */
export interface Staging {
  /** Its elements lie beside each other along the steps of the sum; else along rows or columns. */
  readonly alongSteps: boolean;
  /** Of the loads of the side, in the order of `loadsIn`: which of them bring four elements. */
  readonly vectors: readonly boolean[];
}

/**
 * A workgroup of a Contraction has a tile of results, of which each thread has `tileM` by `tileN` in registers. It goes through the sum `depth`
 * steps at a time: both sides of these are brought into workgroup memory, where all threads find what they multiply.
 */
export interface SharedTileSchedule {
  readonly kind: 'shared tile';
  readonly threadsM: number;
  readonly threadsN: number;
  /** Rows of a thread, `threadsM` apart; columns, four beside each other and these `threadsN` apart. */
  readonly tileM: number;
  readonly tileN: number;
  readonly depth: number;
  /** Four steps of the sum are always four of its innermost loop. */
  readonly stepsInLine: boolean;
  readonly left: Staging;
  readonly right: Staging;
}

/**
 * Every thread of a RunningSoftmax has `rows` of the result, `columns` of each, and takes `positions` at a time: nothing is worked out
 * twice, and nobody waits for anybody.
 */
export interface OwnRowsSchedule {
  readonly kind: 'own rows';
  readonly workgroupSize: number;
  readonly rows: number;
  readonly columns: number;
  readonly positions: number;
}

/**
 * A workgroup of a RunningSoftmax has a block of rows. Its threads bring positions into workgroup memory, `positions` for each column of
 * threads at a time, and share them.
 */
export interface SharedRowsSchedule {
  readonly kind: 'shared rows';
  readonly threadsM: number;
  readonly threadsN: number;
  /** Of each thread, `threadsM` and `threadsN` apart. */
  readonly rows: number;
  readonly columns: number;
  readonly positions: number;
  /** Steps of the sum over depth that are in workgroup memory at a time. */
  readonly depth: number;
}

export type Schedule =
  | PointSchedule
  | RowSchedule
  | StepsSchedule
  | TileSchedule
  | SharedTileSchedule
  | OwnRowsSchedule
  | SharedRowsSchedule;

/** A kernel as its schedule has it, with the size of its grid. No workgroups at all: there is nothing to do. */
export interface Launch {
  readonly kernel: NormalForm;
  readonly schedule: Schedule;
  readonly workgroups: number;
}

/** What of a schedule is part of a shader. */
export function scheduleKey(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'point':
      return `p${schedule.workgroupSize},${schedule.pointsPerThread}`;
    case 'row':
      return `r${schedule.workgroupSize},${schedule.steps}${schedule.subgroups ? 's' : ''}`;
    case 'steps':
      return `q${schedule.workgroupSize}`;
    case 'tile':
      return `t${schedule.threadsN},${schedule.threadsM},${schedule.tileM},${schedule.tileN}${schedule.rolled ? 'r' : ''}`;
    case 'shared tile': {
      const { threadsM, threadsN, tileM, tileN, depth, stepsInLine, left, right } = schedule;
      const sides = [left, right].map((side) => `${side.alongSteps ? 'k' : 'i'}${side.vectors.map(Number).join('')}`);
      return `b${threadsN},${threadsM},${tileM},${tileN},${depth}${stepsInLine ? 'l' : ''}${sides.join('')}`;
    }
    case 'own rows':
      return `o${schedule.workgroupSize},${schedule.rows},${schedule.columns},${schedule.positions}`;
    case 'shared rows': {
      const { threadsM, threadsN, rows, columns, positions, depth } = schedule;
      return `s${threadsN},${threadsM},${rows},${columns},${positions},${depth}`;
    }
  }
}

/** What only hardware gets; null until a device of that kind was opened. */
let hardware: typeof hardwareSchedules | null = null;

/** Fetches what only hardware gets: whoever opens such a device does that before anything is scheduled for it. */
export async function fetchHardwareSchedules(): Promise<void> {
  hardware = await import('./hardware-schedules.ts');
}

/** Chooses how a kernel is spread over a device's threads, from its extents in this launch. */
export function chooseSchedule(kernel: NormalForm, capabilities: DeviceCapabilities): Launch {
  if (kernel.kind === 'contraction') return scheduleContraction(kernel, capabilities);
  if (kernel.kind === 'running-softmax') return scheduleRunningSoftmax(kernel, capabilities);
  if (kernel.kind === 'recurrence') return scheduleRecurrence(kernel, capabilities);
  return capabilities.software ? scheduleNestInSoftware(kernel) : scheduleNest(kernel, capabilities);
}

/** A nest whose points are dealt out to workgroups of that size. */
export function byPoints(nest: LoopNest, workgroupSize: number, pointsPerThread: number): Launch {
  const schedule: PointSchedule = { kind: 'point', workgroupSize, pointsPerThread };
  const workgroups = Math.ceil(pointsOf(nest.axes) / (workgroupSize * pointsPerThread));
  return { kernel: blockedSums(nest), schedule, workgroups };
}

/** From this many rows on, a thread for each of them keeps a GPU busy. */
const manyRows = 16384;

function scheduleNest(nest: LoopNest, capabilities: DeviceCapabilities): Launch {
  const count = pointsOf(nest.axes);
  const row = rowLength(nest);
  if (count > 0 && row >= 32 && (count < manyRows || row >= 512)) {
    const largest = Math.min(256, capabilities.maxWorkgroupSize);
    let workgroupSize = 32;
    while (workgroupSize < largest && workgroupSize * 4 <= row) workgroupSize *= 2;
    return byRows(nest, row, workgroupSize, capabilities.subgroupSize > 0);
  }
  return byPoints(nest, Math.min(64, capabilities.maxWorkgroupSize), 1);
}

/** Values that a thread keeps of a row: registers have room for so many. */
const maxKept = 32;

function byRows(nest: LoopNest, row: number, workgroupSize: number, subgroups: boolean): Launch {
  const steps = powerOfTwoFrom(row / workgroupSize);
  const united = (steps <= maxKept && hardware?.withOneRowAxis(nest)) || null;
  const kept = united ? hardware!.keptValues(united) : [];
  const isKept = kept.length > 0 && kept.length * steps <= maxKept;
  const own = isKept ? { kept, steps } : { kept: [], steps: 0 };
  const schedule: RowSchedule = { kind: 'row', workgroupSize, ...own, subgroups };
  return { kernel: isKept ? united! : nest, schedule, workgroups: pointsOf(nest.axes) };
}

/**
 * A software adapter runs the threads of a workgroup on one core, some at a time in one vector. Barriers cost it more than
 * they save, and every workgroup costs something: a little work a point asks for few and large ones.
 */
function scheduleNestInSoftware(nest: LoopNest): Launch {
  const count = pointsOf(nest.axes);
  const row = rowLength(nest);
  if (count === 1 && row >= 1024) {
    return byRows(nest, Infinity, 8, false);
  }
  if (row >= 64) return byPoints(nest, 8, 1);
  return count >= 8192 ? byPoints(nest, 64, 16) : byPoints(nest, count <= 8 ? 8 : 64, 1);
}

/** On a software adapter a workgroup is one vector of threads, so that waiting costs it nothing. */
function scheduleRecurrence(kernel: Recurrence, { software, maxWorkgroupSize }: DeviceCapabilities): Launch {
  const wanted = software ? 8 : Math.max(32, powerOfTwoFrom(pointsOf(kernel.innerAxes)));
  const workgroupSize = Math.min(wanted, 256, maxWorkgroupSize);
  const isEmpty = extentOf(kernel.time) === 0;
  return { kernel, schedule: { kind: 'steps', workgroupSize }, workgroups: isEmpty ? 0 : pointsOf(kernel.axes) };
}

/** How many steps a point of the nest takes: its inner axes, or a reduction that is worked out once for the point. */
function rowLength(nest: LoopNest): number {
  const inner = new Set<AxisExpr>(nest.innerAxes);
  const freeAxes = new FreeAxes();
  let longest = pointsOf(nest.innerAxes);
  for (const reduce of reductionsIn(nest.stores.flatMap(expressionsOf))) {
    if ([...freeAxes.of(reduce)].some((axis) => inner.has(axis))) continue;
    longest = Math.max(longest, pointsOf(reduce.axes));
  }
  return longest;
}

function scheduleContraction(kernel: NormalContraction, capabilities: DeviceCapabilities): Launch {
  const m = extentOf(kernel.m);
  const n = extentOf(kernel.n);
  const batch = pointsOf(kernel.batch);
  const shared = capabilities.software ? null : hardware?.sharedTile(kernel, capabilities);
  const schedule =
    shared ??
    (isReduced(kernel.right)
      ? tallTiles(m, n, capabilities)
      : capabilities.software
        ? tileInSoftware(batch * m * n * pointsOf(kernel.k), m, n)
        : tileOnGpu(batch, m, n, capabilities));
  const { tileM, tileN, threadsM, threadsN } = schedule;
  const tiles = Math.ceil(m / (tileM * threadsM)) * Math.ceil(n / (tileN * threadsN));
  return { kernel, schedule, workgroups: batch * tiles };
}

/** An element of the right side is dear: as many results as registers hold are made of it, of one column by each thread. */
function tallTiles(m: number, n: number, { software, maxWorkgroupSize }: DeviceCapabilities): TileSchedule {
  const threadsN = Math.min(software ? 8 : 64, maxWorkgroupSize, powerOfTwoFrom(n));
  return { kind: 'tile', threadsM: 1, threadsN, tileM: tallTile(m), tileN: 1, rolled: software };
}

/** From here on, in multiply-adds, a large tile's faster run outweighs the time a software adapter takes to compile it. */
const largeProduct = 32e6;

/**
 * Loads are what costs: rows the same for all threads, columns next to each other, tiles large. But a shader takes as long to
 * compile as it runs in hundreds of launches, so that few kinds of tile serve all but the largest products.
 */
function tileInSoftware(work: number, m: number, n: number): TileSchedule {
  const fixed = { kind: 'tile', threadsM: 1, rolled: true } as const;
  if (work >= largeProduct && m >= 8 && n >= 128) return { ...fixed, threadsN: 32, tileM: 8, tileN: 8 };
  return { ...fixed, threadsN: 8, tileM: m >= 2 ? 4 : 1, tileN: n > 8 ? 4 : 1 };
}

/** Tiles as large as leaves enough of them to fill a GPU. */
function tileOnGpu(batch: number, m: number, n: number, capabilities: DeviceCapabilities): TileSchedule {
  const threads = Math.min(256, capabilities.maxWorkgroupSize);
  const threadsN = Math.min(16, powerOfTwoFrom(n));
  const threadsM = Math.min(threads / threadsN, powerOfTwoFrom(m));
  const enough = 256;
  let tile = 4;
  const count = (): number => batch * Math.ceil(m / (tile * threadsM)) * Math.ceil(n / (tile * threadsN));
  while (tile > 1 && count() < enough) tile /= 2;
  return { kind: 'tile', threadsN, threadsM, tileM: Math.min(tile, evenTile(m, tile)), tileN: tile, rolled: false };
}

/** The smallest of the usual sizes that covers `extent` in as few tiles as the largest allowed does. */
function evenTile(extent: number, largest: number): number {
  const tiles = Math.ceil(extent / largest);
  const needed = Math.ceil(extent / Math.max(tiles, 1));
  return [1, 2, 3, 4, 5, 6, 8].find((size) => size >= needed) ?? largest;
}

function powerOfTwoFrom(extent: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(extent, 1)));
}
