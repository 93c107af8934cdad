import type { OperatorRow } from '../../table/row.ts';
import { hashRow } from './hash.ts';
import { loggingRows } from './logging.ts';
import { mathFunctionRows } from './math-functions.ts';
import { stringMethodRows } from './string-methods.ts';

/** Operators on numbers and strings that few models use. */
export const scalarFunctionRows: readonly OperatorRow[] = [
  ...stringMethodRows,
  ...mathFunctionRows,
  ...loggingRows,
  hashRow,
];
