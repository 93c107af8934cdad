import type { OperatorRow } from '../../table/row.ts';
import { arithmeticRows } from './arithmetic.ts';
import { comparisonRows } from './comparison.ts';
import { conversionRows } from './conversions.ts';
import { dictRows } from './dicts.ts';
import { environmentRows } from './environment.ts';
import { listRows } from './lists.ts';
import { mathRows } from './math.ts';
import { stringRows } from './strings.ts';

/** Operators on numbers, strings, lists, dicts and the environment. */
export const scalarRows: readonly OperatorRow[] = [
  ...arithmeticRows,
  ...mathRows,
  ...comparisonRows,
  ...conversionRows,
  ...stringRows,
  ...listRows,
  ...dictRows,
  ...environmentRows,
];
