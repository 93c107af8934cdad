import type { OperatorRow } from '../../table/row.ts';
import { arrayViewRows } from './array-views.ts';
import { flatIndexingRows } from './flat-indexing.ts';
import { maskedIndexRows } from './masked-index.ts';
import { pixelShuffleRows } from './pixel-shuffle.ts';
import { placingRows } from './placing.ts';
import { tensorStateRows } from './tensor-state.ts';
import { viewCopyRows } from './view-copies.ts';

/** Rarer ways to take tensors apart, to put them together, and to look at their memory. */
export const layoutRows: readonly OperatorRow[] = [
  ...arrayViewRows,
  ...placingRows,
  ...pixelShuffleRows,
  ...flatIndexingRows,
  ...viewCopyRows,
  ...maskedIndexRows,
  ...tensorStateRows,
];
