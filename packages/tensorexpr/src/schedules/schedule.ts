import type { DeviceCapabilities } from '../device.ts';
import { axisOfThreads } from './axis-of-threads.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { expressionsOf, type LoopNest, type Recurrence } from '../kernels/kernel.ts';
import { tallTile } from '../kernels/kernel-work.ts';
import type { NormalContraction, NormalForm } from '../kernels/normalise.ts';
import { blockedSums } from './reduction-stages.ts';
import { isReduced, reductionsIn } from '../expressions/walk.ts';
import { noWholeWords, wholeWordsOf, type WholeWords } from './whole-words.ts';
import { scheduleRunningSoftmax } from './running-softmax-schedule.ts';

/** Threads for the points of the nest's axes; reductions and inner axes are loops inside a thread. */
export interface PointSchedule {
  readonly kind: 'point';
  readonly workgroupSize: number;
  /** Points a thread takes at most; beside each other where it stores words of them. */
  readonly pointsPerThread: number;
  readonly words: WholeWords;
  /** The axis of the nest, by its place, along which these follow each other; null: they are `workgroupSize` apart from each other, whichever axes that is along. */
  readonly along: number | null;
}

/** One workgroup for each point of the nest's axes: its threads share reductions and inner axes. */
export interface RowSchedule {
  readonly kind: 'row';
  readonly workgroupSize: number;
  /** Elements that a thread has at most of a row it keeps, `workgroupSize` apart; 0: nothing is kept, and loops are any length. */
  readonly steps: number;
  /** Threads of a subgroup reduce among themselves before those of a workgroup do. */
  readonly subgroups: boolean;
}

/**
 * One workgroup for each point of a Recurrence's axes: its threads share the points of a step, and wait for each other after it. Without inner axes
 * one thread for each point, and nobody waits.
 */
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
 * A workgroup of a Contraction with few rows has all of these and some columns. Its threads share the steps of each sum, and add up what they came to:
 * by subgroups, which must be of one column's threads then, or by a tree in workgroup memory.
 */
export interface SplitSumSchedule {
  readonly kind: 'split sum';
  /** `threadsN` times `threadsK`. */
  readonly workgroupSize: number;
  /** Threads along columns, and those that share a sum. */
  readonly threadsN: number;
  readonly threadsK: number;
  /** Rows of a thread: all that there are; and columns, which are beside each other where they are loaded as vectors, else `threadsN` apart. */
  readonly tileM: number;
  readonly tileN: number;
  /** Steps that a thread takes at a time: four of the innermost loop, or one. */
  readonly depth: number;
  /** Neighbouring threads take neighbouring steps; else neighbouring columns. */
  readonly alongSteps: boolean;
  /** Of the loads of each side, in the order of `loadsIn`: which of them bring four elements. */
  readonly left: readonly boolean[];
  readonly right: readonly boolean[];
  readonly subgroups: boolean;
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
  | SplitSumSchedule
  | OwnRowsSchedule
  | SharedRowsSchedule;

/** A kernel as its schedule has it, with the size of its grid. No workgroups at all: there is nothing to do. */
export interface Launch {
  readonly kernel: NormalForm;
  readonly schedule: Schedule;
  /** Of a row: what several loops need of each element, which a thread keeps; all loops go along the same axis then. */
  readonly kept?: readonly Expr[];
  readonly workgroups: number;
  /** Of a schedule that is not the rule's word alone: those that were measured, the rule's first. */
  readonly measured?: readonly MeasuredSchedule[];
  /** Where the number of chunks of a product's sum was measured: each that was, the rule's first, and that of this launch. */
  readonly cut?: MeasuredCut;
}

/** How long a product takes with so many chunks of its sum; one is the product itself. */
export interface MeasuredCut {
  readonly chunks: number;
  readonly measured: readonly { readonly chunks: number; readonly nanoseconds: number }[];
}

/** A schedule, and how long a launch that has it takes. */
export interface MeasuredSchedule {
  readonly schedule: Schedule;
  readonly nanoseconds: number;
}

/** What of a schedule is part of a shader. */
export function scheduleKey(schedule: Schedule): string {
  switch (schedule.kind) {
    case 'point':
      return `p${schedule.workgroupSize},${schedule.pointsPerThread}${schedule.words.stores.map((isWhole) => (isWhole ? 'w' : 's')).join('')}${schedule.along === null ? '' : `,${schedule.along}`}`;
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
    case 'split sum': {
      const { threadsN, threadsK, tileM, tileN, depth, alongSteps, left, right, subgroups } = schedule;
      const sides = [left, right].map((vectors) => vectors.map(Number).join('')).join(',');
      return `k${threadsN},${threadsK},${tileM},${tileN},${depth}${alongSteps ? 'k' : 'n'}${sides}${subgroups ? 's' : ''}`;
    }
    case 'own rows':
      return `o${schedule.workgroupSize},${schedule.rows},${schedule.columns},${schedule.positions}`;
    case 'shared rows': {
      const { threadsM, threadsN, rows, columns, positions, depth } = schedule;
      return `s${threadsN},${threadsM},${rows},${columns},${positions},${depth}`;
    }
  }
}

/** So many threads keep a GPU busy: a tile is as large as leaves them. */
export const enoughThreads = 16384;

/** Chooses how a kernel is spread over a device's threads, from its extents in this launch. */
export function chooseSchedule(kernel: NormalForm, capabilities: DeviceCapabilities): Launch {
  if (kernel.kind === 'contraction') return scheduleContraction(kernel, capabilities);
  if (kernel.kind === 'running-softmax') return scheduleRunningSoftmax(kernel, capabilities);
  if (kernel.kind === 'recurrence') return scheduleRecurrence(kernel, capabilities);
  return capabilities.hardware?.scheduleNest(kernel, capabilities) ?? scheduleNestInSoftware(kernel, capabilities);
}

/** A nest whose points are dealt out to workgroups of that size, at least so many to a thread: all of a word, where a point takes few steps. */
export function byPoints(
  nest: LoopNest,
  workgroupSize: number,
  leastPoints: number,
  capabilities: Pick<DeviceCapabilities, 'f16'>,
): Launch {
  const words = rowLength(nest) < fewSteps ? wholeWordsOf(nest, capabilities) : noWholeWords;
  const pointsPerThread = Math.max(leastPoints, words.elements);
  return launchOfPoints(nest, { kind: 'point', workgroupSize, pointsPerThread, words, along: null });
}

/** A nest whose points are dealt out as a schedule says. */
export const launchOfPoints = (nest: LoopNest, schedule: PointSchedule): Launch => ({
  kernel: blockedSums(nest),
  schedule,
  workgroups: workgroupsOf(nest.axes, schedule),
});

function workgroupsOf(axes: readonly AxisExpr[], { workgroupSize, pointsPerThread, along }: PointSchedule): number {
  const points = pointsOf(axes);
  const ofWorkgroup = workgroupSize * pointsPerThread;
  if (along === null) return Math.ceil(points / ofWorkgroup);
  const extent = extentOf(axes[along]);
  if (along === axes.length - 1) return Math.ceil(extent / ofWorkgroup) * (points / extent);
  return Math.ceil((Math.ceil(extent / pointsPerThread) * (points / extent)) / workgroupSize);
}

/** Of points that take as many, threads are wanted more than it costs to exchange words. */
const fewSteps = 64;

/**
 * A software adapter runs the threads of a workgroup on one core, some at a time in one vector. Barriers cost it more than
 * they save, and every workgroup costs something: a little work a point asks for few and large ones.
 */
function scheduleNestInSoftware(nest: LoopNest, capabilities: DeviceCapabilities): Launch {
  const count = pointsOf(nest.axes);
  const row = rowLength(nest);
  if (count === 1 && row >= 1024) {
    return { kernel: nest, schedule: { kind: 'row', workgroupSize: 8, steps: 0, subgroups: false }, workgroups: 1 };
  }
  if (row >= fewSteps) return byPoints(nest, 8, 1, capabilities);
  if (count < 8192) return byPoints(nest, count <= 8 ? 8 : 64, 1, capabilities);
  const words = wholeWordsOf(nest, capabilities);
  // Sums gain nothing by it, and whole words are stored along all axes.
  const isFlat = (row > 1 && nest.axes.length > 1) || words.elements > 1;
  const along = isFlat ? null : axisOfThreads(nest);
  const pointsPerThread = row > 1 || along === null ? 16 : 32;
  return launchOfPoints(nest, { kind: 'point', workgroupSize: 64, pointsPerThread, words, along });
}

/** On a software adapter a workgroup is one vector of threads, so that waiting costs it nothing. Without inner axes each thread has a point of its own. */
function scheduleRecurrence(kernel: Recurrence, { software, maxWorkgroupSize }: DeviceCapabilities): Launch {
  const isShared = kernel.innerAxes.length > 0;
  const wanted = software ? 8 : Math.max(isShared ? 32 : 64, powerOfTwoFrom(pointsOf(kernel.innerAxes)));
  return bySteps(kernel, Math.min(wanted, 256, maxWorkgroupSize));
}

/** A recurrence whose points, or whose inner points, are dealt out to workgroups of that size. */
export function bySteps(kernel: Recurrence, workgroupSize: number): Launch {
  const points = extentOf(kernel.time) === 0 ? 0 : pointsOf(kernel.axes);
  const workgroups = kernel.innerAxes.length > 0 ? points : Math.ceil(points / workgroupSize);
  return { kernel, schedule: { kind: 'steps', workgroupSize }, workgroups };
}

/** How many steps a point of the nest takes: its inner axes, or a reduction that is worked out once for the point. */
export function rowLength(nest: LoopNest): number {
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
  const launch = capabilities.hardware?.scheduleProduct(kernel, capabilities);
  if (launch) return launch;
  if (isReduced(kernel.right)) return byTiles(kernel, tallTiles(m, n, capabilities));
  return byTiles(kernel, tileInSoftware(kernel, m, n));
}

/** A contraction whose tiles are dealt out to workgroups. */
export function byTiles(kernel: NormalContraction, schedule: TileSchedule | SharedTileSchedule): Launch {
  const { tileM, tileN, threadsM, threadsN } = schedule;
  const tiles = Math.ceil(extentOf(kernel.m) / (tileM * threadsM)) * Math.ceil(extentOf(kernel.n) / (tileN * threadsN));
  return { kernel, schedule, workgroups: pointsOf(kernel.batch) * tiles };
}

/** An element of the right side is dear: as many results as registers hold are made of it, of one column by each thread. */
export function tallTiles(m: number, n: number, { software, maxWorkgroupSize }: DeviceCapabilities): TileSchedule {
  const threadsN = Math.min(software ? 8 : 64, maxWorkgroupSize, powerOfTwoFrom(n));
  return { kind: 'tile', threadsM: 1, threadsN, tileM: tallTile(m), tileN: 1, rolled: software };
}

/** From here on, in multiply-adds, a large tile's faster run outweighs the time a software adapter takes to compile it, whatever it multiplies. */
const largeProduct = 32e6;

/** Such a side takes no time to compile, however many rows or columns of a tile have it. */
const isPlain = (side: Expr): boolean => side.kind === 'load' || (side.kind === 'cast' && isPlain(side.x));

/**
 * Loads are what costs: rows the same for all threads, columns next to each other, tiles large. But a shader of sides that are worked out, such as
 * a convolution's, takes as long to compile as it runs in hundreds of launches; and few kinds of tile serve all products, even where a tile has twice
 * as many rows or columns as there are, which costs no more than smaller tiles do.
 */
function tileInSoftware({ left, right, batch, k }: NormalContraction, m: number, n: number): TileSchedule {
  const isLarge = m >= 8 && n >= 128 && pointsOf([...batch, ...k]) * m * n >= largeProduct;
  const rows = isLarge || (m >= 4 && isPlain(left) && isPlain(right)) ? 8 : 4;
  const tileM = m >= 2 ? rows : 1;
  const tileN = n > 8 ? rows : 1;
  return { kind: 'tile', threadsM: 1, threadsN: 8, tileM, tileN, rolled: true };
}

export function powerOfTwoFrom(extent: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(extent, 1)));
}
