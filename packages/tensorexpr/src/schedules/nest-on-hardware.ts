import type { DeviceCapabilities } from '../device.ts';
import { pointsOf } from '../expressions/index-value.ts';
import type { LoopNest } from '../kernels/kernel.ts';
import { keptValues, withOneRowAxis } from './kept-values.ts';
import { productOfNest } from './product-of-nest.ts';
import { byPoints, powerOfTwoFrom, rowLength, type Launch } from './schedule.ts';
import { splitSum } from './split-sum-schedule.ts';

/** From this many rows on, a thread for each of them keeps a GPU busy. */
const manyRows = 16384;

/** From this many steps on, threads share a sum. */
const longSum = 32;

export function scheduleNest(nest: LoopNest, capabilities: DeviceCapabilities): Launch {
  const count = pointsOf(nest.axes);
  const row = rowLength(nest);
  const product = count > 0 && row >= longSum ? productOfNest(nest) : null;
  const split = product && splitSum(product, capabilities);
  if (split) return split;
  if (count > 0 && row >= longSum && (count < manyRows || row >= 512)) {
    const largest = Math.min(256, capabilities.maxWorkgroupSize);
    let workgroupSize = 32;
    while (workgroupSize < largest && workgroupSize * 4 <= row) workgroupSize *= 2;
    return byRows(nest, row, workgroupSize, capabilities.subgroupSize > 0);
  }
  return byPoints(nest, Math.min(64, capabilities.maxWorkgroupSize), 1, capabilities);
}

/** Values that a thread keeps of a row: registers have room for so many. */
const maxKept = 32;

/** A nest with a workgroup for each of its points, whose threads keep what they have of a row where registers have room. */
export function byRows(nest: LoopNest, row: number, workgroupSize: number, subgroups: boolean): Launch {
  const steps = powerOfTwoFrom(row / workgroupSize);
  const united = steps <= maxKept ? withOneRowAxis(nest) : null;
  const kept = united ? keptValues(united) : [];
  const isKept = kept.length > 0 && kept.length * steps <= maxKept;
  const workgroups = pointsOf(nest.axes);
  const schedule = { kind: 'row', workgroupSize, subgroups } as const;
  if (!isKept) return { kernel: nest, schedule: { ...schedule, steps: 0 }, workgroups };
  return { kernel: united!, schedule: { ...schedule, steps }, kept, workgroups };
}
