import { nnRows } from './nn/rows.ts';
import type { OperatorRow } from './row.ts';
import { scalarRows } from './scalar/rows.ts';
import { tensorRows } from './tensor/rows.ts';

/** Every row that the library carries in any case, family by family. */
export const families: readonly (readonly OperatorRow[])[] = [scalarRows, tensorRows, nnRows];
