import type { OperatorRow } from '../../table/row.ts';
import { arrayViewRows } from './array-views.ts';
import { binaryFunctionRows } from './binary-functions.ts';
import { compositeRows } from './composites.ts';
import { extremeScanRows } from './extreme-scans.ts';
import { flatIndexingRows } from './flat-indexing.ts';
import { gradientRows } from './gradient.ts';
import { maskedIndexRows } from './masked-index.ts';
import { placingRows } from './placing.ts';
import { tensorStateRows } from './tensor-state.ts';
import { viewCopyRows } from './view-copies.ts';

/** Operators that have come from NumPy and SciPy, and other rare ways to take tensors apart. */
export const numpyRows: readonly OperatorRow[] = [
  ...arrayViewRows,
  ...binaryFunctionRows,
  ...placingRows,
  ...flatIndexingRows,
  ...extremeScanRows,
  ...viewCopyRows,
  ...compositeRows,
  ...gradientRows,
  ...maskedIndexRows,
  ...tensorStateRows,
];
