export { subgroupFunction } from './subgroup-functions.ts';
export { writeSharedTile } from './shared-tile-writer.ts';
