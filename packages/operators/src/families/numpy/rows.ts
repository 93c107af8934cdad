import { graphDeclarations } from '../../table/graph-declarations.ts';
import type { OperatorRow } from '../../table/row.ts';
import { binaryFunctionRows } from './binary-functions.ts';
import { complexNumberRows } from './complex-numbers.ts';
import { compositeRows } from './composites.ts';
import { distanceRows } from './distance.ts';
import { dtypeQuestionRows } from './dtype-questions.ts';
import { extremeScanRows } from './extreme-scans.ts';
import { gradientRows } from './gradient.ts';

/** Functions that have come from NumPy and SciPy. */
export const numpyRows: readonly OperatorRow[] = [
  ...binaryFunctionRows,
  ...extremeScanRows,
  ...complexNumberRows,
  ...compositeRows,
  ...gradientRows,
  ...distanceRows,
  ...dtypeQuestionRows,
  ...graphDeclarations,
];
