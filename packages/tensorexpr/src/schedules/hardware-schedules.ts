export { keptValues, withOneRowAxis } from './kept-values.ts';
export { sharedTile } from './shared-tile-schedule.ts';
