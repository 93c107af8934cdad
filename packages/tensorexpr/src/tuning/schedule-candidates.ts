import type { DeviceCapabilities } from '../device.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { isReduced } from '../expressions/walk.ts';
import type { SharedTile } from '../kernels/dear-tile.ts';
import type { LoopNest } from '../kernels/kernel.ts';
import type { NormalContraction, NormalForm } from '../kernels/normalise.ts';
import type { RunningSoftmax } from '../kernels/running-softmax.ts';
import { byRows } from '../schedules/nest-on-hardware.ts';
import { productOfNest } from '../schedules/product-of-nest.ts';
import { byRowsOfResult, sharedElements } from '../schedules/running-softmax-schedule.ts';
import {
  byPoints,
  byTiles,
  rowLength,
  scheduleKey,
  tallTiles,
  type Launch,
  type OwnRowsSchedule,
  type SharedRowsSchedule,
  type SplitSumSchedule,
  type TileSchedule,
} from '../schedules/schedule.ts';
import { sharedTileVectors, squareTiles, staged } from '../schedules/shared-tile-schedule.ts';
import { splitSum } from '../schedules/split-sum-schedule.ts';

/** Of one kernel: each is a shader to compile. */
const mostCandidates = 6;

/** Bytes of a vector of four floats in workgroup memory. */
const vectorBytes = 16;

/** Steps of a sum from which on threads may share it. */
const sharedSteps = 32;

/** Elements of a thread's results in attention: half of what a shader may have in variables. */
const mostOwnResults = 1024;

/**
 * A kernel as its schedule class may have it on a device with these limits and features: as the rule has it first, then in up to five other ways that the
 * rules know, those nearest to their choice first. Alone where there is no other way.
 */
export function scheduleCandidates(kernel: NormalForm, rule: Launch, capabilities: DeviceCapabilities): Launch[] {
  const found = new Map<string, Launch>([[scheduleKey(rule.schedule), rule]]);
  if (rule.workgroups > 0) {
    for (const launch of alternatives(kernel, rule, capabilities)) {
      const key = scheduleKey(launch.schedule);
      if (found.size < mostCandidates && !found.has(key)) found.set(key, launch);
    }
  }
  return [...found.values()];
}

/** Steps that a chunk of a sum has at least, where it is measured whether cutting the sum pays. */
const leastChunk = 512;

/** In how many chunks a product's sum may be cut, the rule's number first; that alone where there are threads enough. */
export function chunkCandidates(kernel: NormalForm, capabilities: DeviceCapabilities): number[] {
  const { hardware } = capabilities;
  if (kernel.kind !== 'contraction' || !hardware) return [1];
  const rule = hardware.productChunks(kernel, capabilities);
  const most = hardware.productChunks(kernel, capabilities, leastChunk);
  const others = rule > 1 ? [1, 2 * rule, Math.ceil(rule / 2)] : [2, 4, 8];
  return [...new Set([rule, ...others.filter((chunks) => chunks <= most)])];
}

function alternatives(kernel: NormalForm, rule: Launch, capabilities: DeviceCapabilities): Launch[] {
  switch (kernel.kind) {
    case 'nest':
      return ofNest(kernel, rule, capabilities);
    case 'contraction':
      return ofProduct(kernel, rule, capabilities);
    case 'running-softmax':
      return ofAttention(kernel, rule, capabilities);
    case 'recurrence':
      // Its steps follow each other, however many threads wait for each other.
      return [];
  }
  return kernel satisfies never;
}

// ---- nests

function ofNest(nest: LoopNest, rule: Launch, capabilities: DeviceCapabilities): Launch[] {
  const row = rowLength(nest);
  if (row < sharedSteps) return ofPoints(nest, capabilities);
  const { software, maxWorkgroupSize, subgroupSize } = capabilities;
  const { schedule } = rule;
  const launches: Launch[] = [];
  if (!software) {
    const most = Math.min(256, maxWorkgroupSize);
    const usual = schedule.kind === 'row' ? schedule.workgroupSize : 64;
    const sizes = [usual, usual / 2, usual * 2].filter((size) => size >= 32 && size <= most);
    for (const size of sizes) launches.push(byRows(nest, row, size, subgroupSize > 0));
    if (schedule.kind === 'row' && schedule.subgroups) launches.push(byRows(nest, row, usual, false));
    const product = productOfNest(nest);
    const split = product && splitSum(product, capabilities);
    if (split) launches.splice(1, 0, split, ...splitsLike(split));
  } else if (pointsOf(nest.axes) === 1) launches.push(byRows(nest, row, 8, false));
  for (const threads of [Math.min(64, maxWorkgroupSize), 8]) launches.push(byPoints(nest, threads, 1, capabilities));
  return launches;
}

/** Threads and points of each for a nest without long sums. */
function ofPoints(nest: LoopNest, capabilities: DeviceCapabilities): Launch[] {
  const { software, maxWorkgroupSize } = capabilities;
  const points = pointsOf(nest.axes);
  const ways = software
    ? [[64, 16], [64, 4], [64, 64], [64, 1], [8, 16], [8, 1]] // prettier-ignore
    : [[64, 1], [256, 1], [64, 4], [256, 4], [128, 2]]; // prettier-ignore
  return ways
    .filter(([threads, each]) => threads <= maxWorkgroupSize && threads * each <= Math.max(points, 8))
    .map(([threads, each]) => byPoints(nest, threads, each, capabilities));
}

// ---- products

function ofProduct(kernel: NormalContraction, rule: Launch, capabilities: DeviceCapabilities): Launch[] {
  const { schedule } = rule;
  if (schedule.kind === 'split sum') return [...splitsLike(rule), ...sharedTiles(kernel, capabilities)];
  if (isReduced(kernel.right)) return schedule.kind === 'tile' ? [] : [byOwnTiles(kernel, capabilities)];
  if (capabilities.software) return schedule.kind === 'tile' ? tilesLike(kernel, schedule) : [];
  return schedule.kind === 'shared tile' ? sharedTiles(kernel, capabilities, schedule) : [];
}

const byOwnTiles = (kernel: NormalContraction, capabilities: DeviceCapabilities): Launch =>
  byTiles(kernel, tallTiles(extentOf(kernel.m), extentOf(kernel.n), capabilities));

/** Tiles of registers, of which a software adapter has one of the usual sizes along both sides. */
function tilesLike(kernel: NormalContraction, rule: TileSchedule): Launch[] {
  const [m, n] = [extentOf(kernel.m), extentOf(kernel.n)];
  const sizesOf = (extent: number): number[] =>
    [8, 4, 1].filter((size) => (size === 1 ? extent < 8 : size < 2 * extent));
  return sizesOf(m).flatMap((tileM) => sizesOf(n).map((tileN) => byTiles(kernel, { ...rule, tileM, tileN })));
}

/** Tiles in workgroup memory, with as many threads and as much memory as the device has; those like the rule's first. */
function sharedTiles(
  kernel: NormalContraction,
  { maxWorkgroupSize, maxWorkgroupStorage }: DeviceCapabilities,
  rule?: SharedTile,
): Launch[] {
  const [m, n] = [extentOf(kernel.m), extentOf(kernel.n)];
  const others = squareTiles.filter(
    ({ threadsM, threadsN, tileM, tileN }) => threadsM * tileM < 2 * m && threadsN * tileN < 2 * n,
  );
  const depths = rule ? [rule.depth * 2, rule.depth / 2].filter((depth) => depth >= 8) : [];
  return [...(rule ? depths.map((depth) => ({ ...rule, depth })) : []), ...others]
    .filter((tile) => {
      const { left, right } = sharedTileVectors(tile);
      return tile.threadsM * tile.threadsN <= maxWorkgroupSize && (left + right) * vectorBytes <= maxWorkgroupStorage;
    })
    .map((tile) => byTiles(kernel, staged(kernel, tile)));
}

/** The same sums shared by twice or half as many threads, and with other numbers of columns for each. */
function splitsLike({ kernel, schedule, workgroups }: Launch): Launch[] {
  const rule = schedule as SplitSumSchedule;
  const product = kernel as NormalContraction;
  const n = extentOf(product.n);
  const batch = workgroups / Math.ceil(n / (rule.threadsN * rule.tileN));
  const launch = (threadsK: number, tileN: number): Launch[] => {
    const threadsN = rule.workgroupSize / threadsK;
    const isPossible = threadsK >= 1 && threadsN >= 1 && tileN >= 1 && tileN * rule.tileM <= 32;
    if (!isPossible || threadsN * tileN >= 2 * Math.max(n, 1)) return [];
    const subgroups = rule.subgroups && threadsN === 1;
    const own: SplitSumSchedule = { ...rule, threadsN, threadsK, tileN, subgroups };
    return [{ kernel, schedule: own, workgroups: batch * Math.ceil(n / (threadsN * tileN)) }];
  };
  const { threadsK, tileN, alongSteps, right } = rule;
  const columns = !alongSteps && right.includes(true) ? [] : [tileN * 2, tileN / 2];
  return [
    ...[threadsK * 2, threadsK / 2].flatMap((each) => launch(each, tileN)),
    ...columns.flatMap((each) => launch(threadsK, each)),
  ];
}

// ---- attention

function ofAttention(kernel: RunningSoftmax, { schedule }: Launch, capabilities: DeviceCapabilities): Launch[] {
  if (schedule.kind === 'own rows') {
    const others: Pick<OwnRowsSchedule, 'rows' | 'positions'>[] = [
      { rows: schedule.rows, positions: 8 },
      { rows: schedule.rows, positions: 2 },
      { rows: 2, positions: 4 },
      { rows: 8, positions: 4 },
    ];
    return others
      .filter(({ rows }) => rows < 2 * extentOf(kernel.m) && rows * schedule.columns <= mostOwnResults)
      .map((each) => byRowsOfResult(kernel, { ...schedule, ...each }));
  }
  if (schedule.kind !== 'shared rows') return [];
  const blocks = [
    [2, 2],
    [1, 1],
    [2, 1],
    [1, 2],
  ];
  return blocks
    .map(([rows, positions]): SharedRowsSchedule => ({ ...schedule, rows, positions }))
    .filter((each) => 4 * sharedElements(each) <= capabilities.maxWorkgroupStorage)
    .map((each) => byRowsOfResult(kernel, each));
}
