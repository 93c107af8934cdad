import type { OperatorRow } from '../row.ts';
import { loggingRows } from './logging.ts';
import { mathFunctionRows } from './math-functions.ts';
import { stringMethodRows } from './string-methods.ts';

/** Operators on numbers and strings that few models use. */
export const extraScalarRows: readonly OperatorRow[] = [...stringMethodRows, ...mathFunctionRows, ...loggingRows];
