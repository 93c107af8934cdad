import type { DeviceCapabilities } from '../device.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { ReduceExpr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { isReduced, walk } from '../expressions/walk.ts';
import { dearTile, hasDearRight, type SharedTile } from '../kernels/dear-tile.ts';
import type { NormalContraction } from '../kernels/normalise.ts';
import { enoughThreads, type SharedTileSchedule } from './schedule.ts';
import { VectorLoads } from './vector-loads.ts';

/** The largest first. What they take of workgroup memory is half of what every device has. */
export const squareTiles: readonly SharedTile[] = [
  { threadsM: 16, threadsN: 16, tileM: 8, tileN: 8, depth: 8 },
  { threadsM: 8, threadsN: 8, tileM: 8, tileN: 8, depth: 8 },
  { threadsM: 16, threadsN: 16, tileM: 4, tileN: 4, depth: 16 },
  { threadsM: 8, threadsN: 8, tileM: 4, tileN: 4, depth: 16 },
];

/** For fewer than sixteen rows, fewer columns, or fewer of both. */
const lowTile: SharedTile = { threadsM: 4, threadsN: 16, tileM: 4, tileN: 4, depth: 16 };
const narrowTile: SharedTile = { threadsM: 16, threadsN: 4, tileM: 4, tileN: 4, depth: 16 };
const smallTile: SharedTile = { threadsM: 16, threadsN: 4, tileM: 1, tileN: 4, depth: 16 };

/** A product with fewer steps has little to share. */
const fewSteps = 16;

/** How threads of a workgroup share what they multiply; null for a product too small for that. */
export function sharedTile(kernel: NormalContraction, capabilities: DeviceCapabilities): SharedTileSchedule | null {
  if (rowReductions(kernel).some(({ type }) => type !== 'float')) return null;
  const tile = isReduced(kernel.right)
    ? hasDearRight(kernel, kernel.k)
      ? dearTile(kernel, capabilities)
      : null
    : plainTile(kernel, capabilities);
  return tile && staged(kernel, tile);
}

/** A tile with how the sides of a product come into it. */
export function staged(kernel: NormalContraction, tile: SharedTile): SharedTileSchedule {
  const inner = kernel.k.at(-1)!;
  const vectors = new VectorLoads(kernel);
  return {
    kind: 'shared tile',
    ...tile,
    stepsInLine: extentOf(inner) % 4 === 0,
    left: vectors.staging(kernel.left, kernel.m, inner),
    right: vectors.staging(kernel.right, kernel.n, inner),
  };
}

/** The tile of a product whose sides are about as long to work out as to read. */
function plainTile(kernel: NormalContraction, { maxWorkgroupSize }: DeviceCapabilities): SharedTile | null {
  const [batch, m, n] = [pointsOf(kernel.batch), extentOf(kernel.m), extentOf(kernel.n)];
  if (Math.min(m, n) === 0 || pointsOf(kernel.k) < fewSteps) return null;
  if (m < 16) return n < 16 ? smallTile : lowTile;
  if (n < 16) return narrowTile;
  const fitting = squareTiles.filter((tile) => tile.threadsM * tile.threadsN <= maxWorkgroupSize);
  const chosen = fitting.find(({ threadsM, threadsN, tileM, tileN }) => {
    const [height, width] = [threadsM * tileM, threadsN * tileN];
    const count = batch * Math.ceil(m / height) * Math.ceil(n / width);
    return height < 2 * m && width < 2 * n && count * threadsM * threadsN >= enoughThreads;
  });
  return chosen ?? fitting.at(-1)!;
}

/** What the left side has to be summed up for each row, such as its statistics: a workgroup does that before it multiplies. */
export function rowReductions({ left, k }: NormalContraction): ReduceExpr[] {
  const freeAxes = new FreeAxes();
  const found: ReduceExpr[] = [];
  walk([left], (expr) => {
    if (expr.kind !== 'reduce' || k.some((own) => freeAxes.of(expr).has(own))) return true;
    found.push(expr);
    return false;
  });
  return found;
}

/** Where in workgroup memory the tiles of both sides lie, in vectors of four. */
export function sharedTileVectors({ threadsM, threadsN, tileM, tileN, depth }: SharedTile): {
  left: number;
  right: number;
} {
  return { left: (threadsM * tileM * depth) / 4, right: (threadsN * tileN * depth) / 4 };
}
