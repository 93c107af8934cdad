import type { OperatorRow } from '../../table/row.ts';
import { decompositionRows } from './decomposition-rows.ts';
import { factorizationRows } from './factorization-rows.ts';
import { productChainRows } from './product-chain.ts';
import { solveRows } from './solve-rows.ts';
import { spectralRows } from './spectral-rows.ts';

/** Linear algebra. */
export const linalgRows: readonly OperatorRow[] = [
  ...factorizationRows,
  ...decompositionRows,
  ...solveRows,
  ...spectralRows,
  ...productChainRows,
];
