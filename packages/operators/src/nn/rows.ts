import type { OperatorRow } from '../row.ts';

/** Operators of neural networks: products, convolutions, pooling, normalisation, attention. */
export const nnRows: readonly OperatorRow[] = [];
