import type { DeviceCapabilities } from '../device.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import type { RunningSoftmax } from '../kernels/running-softmax.ts';
import type { Launch, OwnRowsSchedule, SharedRowsSchedule } from './schedule.ts';

/** How attention is spread over threads: on a software adapter, whose barriers are dear, by rows; else by blocks of rows. */
export function scheduleRunningSoftmax(kernel: RunningSoftmax, capabilities: DeviceCapabilities): Launch {
  const [m, n, k] = [kernel.m, kernel.n, kernel.k].map(extentOf);
  return byRowsOfResult(kernel, capabilities.software ? ownRows(n) : sharedRows(m, n, k, capabilities));
}

/** Attention whose rows are dealt out to threads or to workgroups. */
export function byRowsOfResult(kernel: RunningSoftmax, schedule: OwnRowsSchedule | SharedRowsSchedule): Launch {
  const [threadsM, threadsN] = schedule.kind === 'own rows' ? [1, 1] : [schedule.threadsM, schedule.threadsN];
  const [height, width] = [threadsM * schedule.rows, threadsN * schedule.columns];
  const blocks = Math.ceil(extentOf(kernel.m) / height) * Math.ceil(extentOf(kernel.n) / width);
  const ofWorkgroup = schedule.kind === 'own rows' ? schedule.workgroupSize : 1;
  return { kernel, schedule, workgroups: Math.ceil((pointsOf(kernel.batch) * blocks) / ofWorkgroup) };
}

/** Of four rows of a thread, these are half of what a shader may have in variables. */
const maxOwnColumns = 256;

function ownRows(n: number): OwnRowsSchedule {
  return { kind: 'own rows', workgroupSize: 8, rows: 4, columns: powerOfTwoFrom(n, 8, maxOwnColumns), positions: 4 };
}

const maxSharedColumns = 128;

function sharedRows(m: number, n: number, k: number, capabilities: DeviceCapabilities): SharedRowsSchedule {
  const { maxWorkgroupSize, maxWorkgroupStorage } = capabilities;
  const threads = maxWorkgroupSize >= 256 ? 16 : 8;
  const ofThread = powerOfTwoFrom(Math.ceil(n / threads), 1, maxSharedColumns / threads);
  const block = { kind: 'shared rows', threadsM: threads, threadsN: threads, columns: ofThread, depth: 16 } as const;
  const large: SharedRowsSchedule = { ...block, rows: 2, positions: 2 };
  const isLarge = m >= 2 * threads && k >= 2 * threads && 4 * sharedElements(large) <= maxWorkgroupStorage;
  return isLarge ? large : { ...block, rows: 1, positions: 1 };
}

/** Where in workgroup memory the tiles of a block of rows lie, in elements. */
export function sharedTiles({ threadsM, threadsN, rows, columns, positions, depth }: SharedRowsSchedule) {
  const [height, length] = [threadsM * rows, threadsN * positions];
  // Elements that are written side by side and read one below the other lie in lines that are one longer.
  return {
    left: height * depth,
    right: (length + 1) * depth,
    powers: height * length,
    values: length * threadsN * columns,
  };
}

/** Of workgroup memory. */
export function sharedElements(schedule: SharedRowsSchedule): number {
  return Object.values(sharedTiles(schedule)).reduce((sum, elements) => sum + elements, 0);
}

function powerOfTwoFrom(extent: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, 2 ** Math.ceil(Math.log2(Math.max(extent, 1)))));
}
