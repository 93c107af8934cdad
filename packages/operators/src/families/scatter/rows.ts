import type { OperatorRow } from '../../table/row.ts';
import { gatherScatterRows } from './gather-scatter.ts';
import { indexSliceRows } from './index-slices.ts';

/** Elements and slices gathered from, and scattered to, positions that a tensor gives. */
export const scatterFamilyRows: readonly OperatorRow[] = [...gatherScatterRows, ...indexSliceRows];
