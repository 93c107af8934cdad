import type { OperatorRow } from '../row.ts';
import { histogramRows } from './histogram.ts';
import { segmentReduceRows } from './segment-reduce.ts';

/** Histograms, and reductions over segments. */
export const specialRows: readonly OperatorRow[] = [...histogramRows, ...segmentReduceRows];
