import type { OperatorRow } from '../row.ts';
import { arithmeticRows } from './arithmetic.ts';

/** Operators on tensors outside `nn`. */
export const tensorRows: readonly OperatorRow[] = [...arithmeticRows];
