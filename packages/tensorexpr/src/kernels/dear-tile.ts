import type { DeviceCapabilities } from '../device.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf } from '../expressions/index-value.ts';
import { reductionsIn } from '../expressions/walk.ts';

/** A tile of a product that the threads of a workgroup share, in results for each thread and steps of the sum at a time. */
export interface SharedTile {
  readonly threadsM: number;
  readonly threadsN: number;
  readonly tileM: number;
  readonly tileN: number;
  readonly depth: number;
}

/** Whether each element of the right side is a sum of its own, as where a depthwise convolution is a part of the product behind it. */
export function hasDearRight({ right }: { readonly right: Expr }, steps: readonly AxisExpr[]): boolean {
  const freeAxes = new FreeAxes();
  const sums = reductionsIn([right]);
  return sums.length > 0 && sums.every((sum) => steps.some((step) => freeAxes.of(sum).has(step)));
}

/** Rows of a workgroup, each a thread's, and steps of the sum that it stages at a time. */
const rows = 32;
/** Columns of a thread: one vector of the right side. */
const columns = 4;
/** With fewer rows an element of the right side is worked out as often by threads that share nothing. */
const leastRows = 16;

/**
 * The tile of a product whose right side is dear: in each piece a thread works out one vector of four elements of it, which serves all rows of the workgroup.
 * Null where threads are better off by themselves.
 */
export function dearTile(
  { m, n }: { readonly m: AxisExpr; readonly n: AxisExpr },
  { software, host, maxWorkgroupSize }: DeviceCapabilities,
): SharedTile | null {
  if (software || host || extentOf(m) < leastRows || maxWorkgroupSize < rows) return null;
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(extentOf(n) / columns, 1)));
  const threadsN = Math.min(wanted, 8, maxWorkgroupSize / rows);
  return { threadsM: rows, threadsN, tileM: 1, tileN: columns, depth: rows };
}
