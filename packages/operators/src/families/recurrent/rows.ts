import type { OperatorRow } from '../../table/row.ts';
import { packedSequenceRows } from './packed-sequence.ts';
import { recurrentRows } from './recurrent.ts';

/** Recurrent layers and packed sequences. */
export const recurrentFamilyRows: readonly OperatorRow[] = [...recurrentRows, ...packedSequenceRows];
