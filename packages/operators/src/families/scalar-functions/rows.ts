import type { OperatorRow } from '../../table/row.ts';
import { awaitRows } from './awaits.ts';
import { hashRow } from './hash.ts';
import { loggingRows } from './logging.ts';
import { mathFunctionRows } from './math-functions.ts';
import { profilerRows } from './profiler.ts';
import { stringMethodRows } from './string-methods.ts';

/** Operators on numbers and strings, and on objects of the runtime, that few models use. */
export const scalarFunctionRows: readonly OperatorRow[] = [
  ...stringMethodRows,
  ...mathFunctionRows,
  ...loggingRows,
  ...awaitRows,
  ...profilerRows,
  hashRow,
];
