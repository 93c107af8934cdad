import type { OperatorRow } from '../../table/row.ts';
import { quantizedActivationRows } from './activations.ts';
import { quantizedArithmeticRows } from './arithmetic.ts';
import { quantizedConvolutionRows } from './convolution.ts';
import { quantizedEmbeddingRows } from './embedding.ts';
import { fbgemmRows } from './fbgemm.ts';
import { fakeQuantizeRows } from './fake-quantize.ts';
import { quantizedLinearRows } from './linear.ts';
import { quantizedNormalizationRows } from './normalization.ts';
import { quantizedPoolingRows } from './pooling.ts';
import { quantizedRecurrentRows } from './recurrent.ts';
import { quantizedTensorRows } from './tensor-rows.ts';

/** Quantised tensors and layers. */
export const quantizedRows: readonly OperatorRow[] = [
  ...quantizedTensorRows,
  ...fakeQuantizeRows,
  ...quantizedActivationRows,
  ...quantizedArithmeticRows,
  ...quantizedPoolingRows,
  ...quantizedNormalizationRows,
  ...quantizedLinearRows,
  ...fbgemmRows,
  ...quantizedConvolutionRows,
  ...quantizedEmbeddingRows,
  ...quantizedRecurrentRows,
];
