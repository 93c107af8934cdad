import type { OperatorRow } from '../../table/row.ts';
import { kthvalueRows } from './kthvalue.ts';
import { listSortingRows } from './list-sorting.ts';
import { orderStatisticRows } from './order-statistics.ts';
import { searchingRows } from './searching.ts';
import { sortRows } from './sort.ts';

/** Elements in order, and what is found by their order. */
export const sortingFamilyRows: readonly OperatorRow[] = [
  ...sortRows,
  ...kthvalueRows,
  ...orderStatisticRows,
  ...searchingRows,
  ...listSortingRows,
];
