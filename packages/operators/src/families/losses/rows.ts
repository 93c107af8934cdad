import type { OperatorRow } from '../../table/row.ts';
import { classLossRows } from './class-loss.ts';
import { ctcLossRows } from './ctc-loss.ts';
import { distanceRows } from './distance.ts';
import { lossRows } from './loss.ts';

/** Losses and distances. */
export const allLossRows: readonly OperatorRow[] = [...lossRows, ...classLossRows, ...ctcLossRows, ...distanceRows];
