import type { OperatorRow } from '../../table/row.ts';
import { histogramRows } from './histogram.ts';
import { segmentReduceRows } from './segment-reduce.ts';
import { specialFunctionRows } from './special.ts';

/** Functions of `torch.special`, histograms, and reductions over segments. */
export const specialRows: readonly OperatorRow[] = [...specialFunctionRows, ...histogramRows, ...segmentReduceRows];
