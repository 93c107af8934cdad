import { audioRows } from './audio/rows.ts';
import { graphDeclarations } from './graph-declarations.ts';
import { linalgRows } from './linalg/rows.ts';
import { extraNnRows } from './nn/extra-rows.ts';
import { quantizedRows } from './quantized/rows.ts';
import type { OperatorRow } from './row.ts';
import { extraScalarRows } from './scalar/extra-rows.ts';
import { specialRows } from './special/rows.ts';
import { extraTensorRows } from './tensor/extra-rows.ts';
import { visionRows } from './vision/rows.ts';

/** Rows that few models use. They are a tenth of all code, so the small edition of the library leaves them out. */
export const extraFamilies: readonly (readonly OperatorRow[])[] = [
  extraScalarRows,
  extraTensorRows,
  extraNnRows,
  linalgRows,
  specialRows,
  visionRows,
  audioRows,
  quantizedRows,
  graphDeclarations,
];
