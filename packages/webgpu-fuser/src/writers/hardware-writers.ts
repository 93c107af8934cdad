export { subgroupFunction } from '../functions/subgroup-functions.ts';
export { writeSharedTile } from './shared-tile-writer.ts';
export { writeSplitSum } from './split-sum-writer.ts';
