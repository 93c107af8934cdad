import type { OperatorRow } from '../row.ts';
import { activationRows } from './activation.ts';
import { arithmeticRows } from './arithmetic.ts';
import { comparisonRows } from './comparison.ts';
import { unaryRows } from './unary.ts';

/** Operators on tensors outside `nn`. */
export const tensorRows: readonly OperatorRow[] = [
  ...arithmeticRows,
  ...unaryRows,
  ...activationRows,
  ...comparisonRows,
];
