import type { OperatorRow } from '../../table/row.ts';
import { classLossRows } from './class-loss.ts';
import { ctcLossRows } from './ctc-loss.ts';
import { lossRows } from './loss.ts';

/** Losses. */
export const allLossRows: readonly OperatorRow[] = [...lossRows, ...classLossRows, ...ctcLossRows];
