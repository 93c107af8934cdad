import type { OperatorRow } from '../row.ts';
import { aliasRows } from './aliases.ts';
import { arrayViewRows } from './array-views.ts';
import { backwardRows } from './backward-formulas.ts';
import { binaryFunctionRows } from './binary-functions.ts';
import { compositeRows } from './composites.ts';
import { gradientRows } from './gradient.ts';
import { maskedIndexRows } from './masked-index.ts';
import { distributionRows } from './distributions.ts';
import { extremeScanRows } from './extreme-scans.ts';
import { flatIndexingRows } from './flat-indexing.ts';
import { orderStatisticRows } from './order-statistics.ts';
import { placingRows } from './placing.ts';
import { searchingRows } from './searching.ts';
import { specialRows } from './special.ts';
import { tensorStateRows } from './tensor-state.ts';
import { viewCopyRows } from './view-copies.ts';

const named: readonly OperatorRow[] = [
  ...arrayViewRows,
  ...binaryFunctionRows,
  ...placingRows,
  ...flatIndexingRows,
  ...distributionRows,
  ...extremeScanRows,
  ...viewCopyRows,
  ...specialRows,
  ...compositeRows,
  ...orderStatisticRows,
  ...searchingRows,
  ...gradientRows,
  ...maskedIndexRows,
  ...tensorStateRows,
  ...backwardRows,
];

/** Tensor operators few models use, with second names. */
export const extraTensorRows: readonly OperatorRow[] = [...named, ...aliasRows(named)];
