import type { OperatorRow } from '../../table/row.ts';
import { nestedRows } from './nested.ts';
import { transformerRows } from './transformer.ts';

/** Tensors of sequences of different lengths, and the transformer layers that take them. */
export const nestedFamilyRows: readonly OperatorRow[] = [...nestedRows, ...transformerRows];
