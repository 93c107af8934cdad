import type { OperatorRow } from '../row.ts';
import { attentionRows } from './attention.ts';
import { batchNormRows } from './batch-norm.ts';
import { convolutionRows } from './convolution.ts';
import { dropoutFamilyRows } from './dropout.ts';
import { einsumRows } from './einsum.ts';
import { embeddingRows } from './embedding.ts';
import { matrixProductRows } from './matrix-product.ts';
import { normalizationRows } from './normalization.ts';
import { packedSequenceRows } from './packed-sequence.ts';
import { paddingRows } from './padding.ts';
import { pixelShuffleRows } from './pixel-shuffle.ts';
import { poolingRows } from './pooling.ts';
import { recurrentRows } from './recurrent.ts';
import { rescalingRows } from './rescaling.ts';
import { softmaxRows } from './softmax.ts';
import { sortRows } from './sort.ts';
import { transformerRows } from './transformer.ts';
import { resamplingRows } from './upsample.ts';

/** Neural network operators: products, convolutions, pools, norms, recurrent layers, attention, resampling and the rest. */
export const nnRows: readonly OperatorRow[] = [
  ...matrixProductRows,
  ...einsumRows,
  ...convolutionRows,
  ...poolingRows,
  ...normalizationRows,
  ...batchNormRows,
  ...softmaxRows,
  ...attentionRows,
  ...dropoutFamilyRows,
  ...embeddingRows,
  ...packedSequenceRows,
  ...paddingRows,
  ...pixelShuffleRows,
  ...recurrentRows,
  ...sortRows,
  ...rescalingRows,
  ...transformerRows,
  ...resamplingRows,
];
