import type { OperatorRow } from '../../table/row.ts';
import { assertionRows } from './assertions.ts';
import { quantizedDecomposedRows } from './quantized-decomposed.ts';

/** Operators that only programs of torch.export have. */
export const exportedRows: readonly OperatorRow[] = [...assertionRows, ...quantizedDecomposedRows];
