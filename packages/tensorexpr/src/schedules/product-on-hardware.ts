import type { DeviceCapabilities } from '../device.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { isReduced } from '../expressions/walk.ts';
import type { NormalContraction } from '../kernels/normalise.ts';
import { byTiles, powerOfTwoFrom, type Launch, type TileSchedule } from './schedule.ts';
import { sharedTile } from './shared-tile-schedule.ts';
import { splitSum } from './split-sum-schedule.ts';

/** Null where each element of the right side is a sum, and threads are better off by themselves. */
export function scheduleProduct(kernel: NormalContraction, capabilities: DeviceCapabilities): Launch | null {
  if (isReduced(kernel.right)) {
    const shared = sharedTile(kernel, capabilities);
    return shared && byTiles(kernel, shared);
  }
  const split = splitSum(kernel, capabilities);
  return split ?? byTiles(kernel, sharedTile(kernel, capabilities) ?? tileOnGpu(kernel, capabilities));
}

/** Tiles as large as leaves enough of them to fill a GPU. */
function tileOnGpu(kernel: NormalContraction, capabilities: DeviceCapabilities): TileSchedule {
  const [batch, m, n] = [pointsOf(kernel.batch), extentOf(kernel.m), extentOf(kernel.n)];
  const threads = Math.min(256, capabilities.maxWorkgroupSize);
  let threadsN = Math.min(16, powerOfTwoFrom(n));
  let threadsM = Math.min(threads / threadsN, powerOfTwoFrom(m));
  const enough = 256;
  let tile = 4;
  const count = (): number => batch * Math.ceil(m / (tile * threadsM)) * Math.ceil(n / (tile * threadsN));
  while (tile > 1 && count() < enough) tile /= 2;
  const [tileM, tileN] = [Math.min(tile, evenTile(m, tile)), Math.min(tile, evenTile(n, tile))];
  // No more threads than have something to do.
  threadsM = Math.min(threadsM, powerOfTwoFrom(m / tileM));
  threadsN = Math.min(threadsN, powerOfTwoFrom(n / tileN));
  return { kind: 'tile', threadsN, threadsM, tileM, tileN, rolled: false };
}

/** The smallest of the usual sizes that covers `extent` in as few tiles as the largest allowed does. */
function evenTile(extent: number, largest: number): number {
  const tiles = Math.ceil(extent / largest);
  const needed = Math.ceil(extent / Math.max(tiles, 1));
  return [1, 2, 3, 4, 5, 6, 8].find((size) => size >= needed) ?? largest;
}
