import type { OperatorRow } from '../row.ts';
import { batchNormRows } from './batch-norm.ts';
import { convolutionRows } from './convolution.ts';
import { einsumRows } from './einsum.ts';
import { matrixProductRows } from './matrix-product.ts';
import { normalizationRows } from './normalization.ts';
import { poolingRows } from './pooling.ts';
import { softmaxRows } from './softmax.ts';

/** Neural network operators: products, convolutions, pools, norms, recurrent layers, attention, resampling and the rest. */
export const nnRows: readonly OperatorRow[] = [
  ...matrixProductRows,
  ...einsumRows,
  ...convolutionRows,
  ...poolingRows,
  ...normalizationRows,
  ...batchNormRows,
  ...softmaxRows,
];
