import type { OperatorRow } from '../row.ts';
import { attentionRows } from './attention.ts';
import { batchNormRows } from './batch-norm.ts';
import { classLossRows } from './class-loss.ts';
import { convolutionRows } from './convolution.ts';
import { ctcLossRows } from './ctc-loss.ts';
import { distanceRows } from './distance.ts';
import { dropoutFamilyRows } from './dropout.ts';
import { einsumRows } from './einsum.ts';
import { embeddingRows } from './embedding.ts';
import { fftRows } from './fft.ts';
import { gridSamplerRows } from './grid-sampler.ts';
import { lossRows } from './loss.ts';
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
import { stftRows } from './stft.ts';
import { transformerRows } from './transformer.ts';
import { unpoolingRows } from './unpooling.ts';
import { windowRows } from './window-functions.ts';
import { unfoldRows } from './unfold.ts';
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
  ...fftRows,
  ...stftRows,
  ...distanceRows,
  ...lossRows,
  ...classLossRows,
  ...ctcLossRows,
  ...rescalingRows,
  ...unpoolingRows,
  ...windowRows,
  ...transformerRows,
  ...resamplingRows,
  ...gridSamplerRows,
  ...unfoldRows,
];
