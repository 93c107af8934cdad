import type { OperatorRow } from '../../table/row.ts';
import { reorderingRows } from './reordering.ts';
import { repeatInterleaveRows } from './repeat-interleave.ts';

/** Elements in another order, and repeated one by one. */
export const arrangingRows: readonly OperatorRow[] = [...reorderingRows, ...repeatInterleaveRows];
