import type { DeviceCapabilities } from '../device.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import type { NormalContraction } from '../kernels/normalise.ts';
import { enoughThreads, powerOfTwoFrom, type Launch, type SplitSumSchedule } from './schedule.ts';
import { rowReductions } from './shared-tile-schedule.ts';
import { VectorLoads } from './vector-loads.ts';

/** Of a workgroup. */
const threads = 64;
/** Rows that a thread has registers for, with several columns of each. */
const fewRows = 8;
/** Results of a thread. */
const mostCells = 32;
/** A product with fewer columns and steps leaves a workgroup nothing to do. */
const leastWork = 16 * threads;

/**
 * How threads share the sums of a product with at most eight rows or columns; null for any other, and for one so small that a thread may as well have
 * it. Of few columns the sides change places.
 */
export function splitSum(kernel: NormalContraction, capabilities: DeviceCapabilities): Launch | null {
  const { m, n, left, right } = kernel;
  if (extentOf(n) < extentOf(m)) return splitRows({ ...kernel, m: n, n: m, left: right, right: left }, capabilities);
  return splitRows(kernel, capabilities);
}

function splitRows(kernel: NormalContraction, { subgroupSize }: DeviceCapabilities): Launch | null {
  const [tileM, n, steps, batch] = [extentOf(kernel.m), extentOf(kernel.n), pointsOf(kernel.k), pointsOf(kernel.batch)];
  // A sum of one product has no loop.
  if (tileM === 0 || tileM > fewRows || n * steps < leastWork || kernel.k.length === 0) return null;
  if (rowReductions(kernel).some(({ type }) => type !== 'float')) return null;
  const inner = kernel.k.at(-1)!;
  const vectors = new VectorLoads(kernel);
  const staged = vectors.staging(kernel.right, kernel.n, inner);
  const isVector = staged.vectors.includes(true);
  const { alongSteps } = staged;
  const depth = alongSteps && isVector ? 4 : 1;
  const left = vectors.vectorsAlong(kernel.left, inner).map((each) => each && depth === 4);
  const own = {
    kind: 'split sum',
    workgroupSize: threads,
    tileM,
    depth,
    alongSteps,
    left,
    right: staged.vectors,
  } as const;
  const largest = [4, 2, 1].filter((columns) => columns * tileM <= mostCells);
  let schedule: SplitSumSchedule;
  if (alongSteps) {
    // Each thread takes two turns at least; threads that a sum has no use for take other columns.
    const threadsK = Math.min(threads, powerOfTwoFrom(steps / (2 * depth)));
    const threadsN = threads / threadsK;
    const tileN =
      largest.find((columns) => {
        const groups = Math.ceil(n / (threadsN * columns));
        return threadsN * columns <= n && batch * groups * threads >= enoughThreads;
      }) ?? 1;
    schedule = { ...own, threadsN, threadsK, tileN, subgroups: subgroupSize > 0 && threadsN === 1 };
  } else {
    const tileN = isVector ? 4 : (largest.find((columns) => batch * (n / columns) >= enoughThreads) ?? 1);
    const columns = Math.ceil(n / tileN);
    // Sums are shared as far as threads are wanting, and each thread has eight steps: beyond sixteen neighbours load too little together.
    let threadsK = 1;
    while (threadsK < 16 && batch * columns * threadsK < enoughThreads && 16 * threadsK <= steps) threadsK *= 2;
    const threadsN = Math.min(threads / threadsK, powerOfTwoFrom(columns));
    schedule = { ...own, threadsN, threadsK: threads / threadsN, tileN, subgroups: false };
  }
  return { kernel, schedule, workgroups: batch * Math.ceil(n / (schedule.threadsN * schedule.tileN)) };
}
