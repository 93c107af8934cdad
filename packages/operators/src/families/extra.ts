import { aliasRows } from '../table/aliases.ts';
import { graphDeclarations } from '../table/graph-declarations.ts';
import type { OperatorRow } from '../table/row.ts';
import { audioRows } from './audio/rows.ts';
import { groupedProductRows } from './einsum/grouped-product.ts';
import { productChainRows } from './einsum/product-chain.ts';
import { tensordotRows } from './einsum/tensordot.ts';
import { fourierRows } from './fourier/rows.ts';
import { backwardRows } from './gradients/backward-formulas.ts';
import { layerRows } from './layers/rows.ts';
import { linalgRows } from './linalg/rows.ts';
import { allLossRows } from './losses/rows.ts';
import { numpyRows } from './numpy/rows.ts';
import { quantizedRows } from './quantized/rows.ts';
import { distributionRows } from './random/distributions.ts';
import { initializationRows } from './random/initialization.ts';
import { gridSamplerRows } from './resampling/grid-sampler.ts';
import { scalarFunctionRows } from './scalar-functions/rows.ts';
import { kthvalueRows } from './sorting/kthvalue.ts';
import { orderStatisticRows } from './sorting/order-statistics.ts';
import { searchingRows } from './sorting/searching.ts';
import { specialRows } from './special/rows.ts';
import { visionRows } from './vision/rows.ts';

const tensorRows: readonly OperatorRow[] = [
  ...numpyRows,
  ...distributionRows,
  ...specialRows,
  ...orderStatisticRows,
  ...searchingRows,
  ...backwardRows,
];

/** Rows that few models use. They are a tenth of all code, so the small edition of the library leaves them out. */
export const extraFamilies: readonly (readonly OperatorRow[])[] = [
  scalarFunctionRows,
  tensorRows,
  aliasRows(tensorRows),
  layerRows,
  fourierRows,
  tensordotRows,
  kthvalueRows,
  gridSamplerRows,
  groupedProductRows,
  productChainRows,
  initializationRows,
  allLossRows,
  linalgRows,
  visionRows,
  audioRows,
  quantizedRows,
  graphDeclarations,
];
