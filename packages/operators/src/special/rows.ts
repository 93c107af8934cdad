import type { OperatorRow } from '../row.ts';
import { histogramRows } from './histogram.ts';

/** Histograms. */
export const specialRows: readonly OperatorRow[] = [...histogramRows];
