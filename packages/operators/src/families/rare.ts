import type { PartName } from '../part-table.ts';
import type { OperatorRow } from '../table/row.ts';
import { arrangingRows } from './arranging/rows.ts';
import { attentionRows } from './attention/attention.ts';
import { audioRows } from './audio/rows.ts';
import { contractionRows } from './einsum/rows.ts';
import { exportedRows } from './exported/rows.ts';
import { fourierRows } from './fourier/rows.ts';
import { backwardRows } from './gradients/backward-formulas.ts';
import { advancedIndexingRows } from './indexing/advanced-indexing.ts';
import { layerRows } from './layers/rows.ts';
import { layoutRows } from './layouts/rows.ts';
import { linalgRows } from './linalg/rows.ts';
import { allLossRows } from './losses/rows.ts';
import { nestedFamilyRows } from './nested/rows.ts';
import { numpyRows } from './numpy/rows.ts';
import { paddingRows } from './padding/padding.ts';
import { quantizedRows } from './quantized/rows.ts';
import { randomFamilyRows } from './random/rows.ts';
import { recurrentFamilyRows } from './recurrent/rows.ts';
import { scanRows } from './reductions/scans.ts';
import { resamplingFamilyRows } from './resampling/rows.ts';
import { scalarFunctionRows } from './scalar-functions/rows.ts';
import { scatterFamilyRows } from './scatter/rows.ts';
import { sortingFamilyRows } from './sorting/rows.ts';
import { specialRows } from './special/rows.ts';
import { visionRows } from './vision/rows.ts';
import { weightOnlyRows } from './weight-only/rows.ts';

/** Rows that few models use, by the part of the library that brings them; for whoever looks at all operators at once. */
export const rareRows: Readonly<Record<PartName, readonly OperatorRow[]>> = {
  arranging: arrangingRows,
  attention: attentionRows,
  einsum: contractionRows,
  exported: exportedRows,
  fourier: [...fourierRows, ...audioRows],
  gradients: backwardRows,
  indexing: advancedIndexingRows,
  layers: layerRows,
  layouts: layoutRows,
  linalg: linalgRows,
  losses: allLossRows,
  nested: nestedFamilyRows,
  numpy: numpyRows,
  padding: paddingRows,
  quantized: quantizedRows,
  random: randomFamilyRows,
  recurrent: recurrentFamilyRows,
  resampling: resamplingFamilyRows,
  'scalar-functions': scalarFunctionRows,
  scans: scanRows,
  scatter: scatterFamilyRows,
  sorting: sortingFamilyRows,
  special: specialRows,
  vision: visionRows,
  'weight-only': weightOnlyRows,
  complex: [],
};
