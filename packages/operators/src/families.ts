import type { OperatorRow } from './row.ts';
import { nnRows } from './nn/rows.ts';
import { scalarRows } from './scalar/rows.ts';
import { tensorRows } from './tensor/rows.ts';

/** Every row, family by family. */
export const families: readonly (readonly OperatorRow[])[] = [scalarRows, tensorRows, nnRows];
