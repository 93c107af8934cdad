import { aliasRows } from '../table/aliases.ts';
import type { OperatorRow } from '../table/row.ts';
import { joiningRows } from './arranging/joining.ts';
import { paddingRows } from './arranging/padding.ts';
import { pixelShuffleRows } from './arranging/pixel-shuffle.ts';
import { rearrangingRows } from './arranging/rearranging.ts';
import { attentionRows } from './attention/attention.ts';
import { softmaxRows } from './attention/softmax.ts';
import { convolutionRows } from './convolution/convolution.ts';
import { conversionRows } from './creation/conversion.ts';
import { creationRows } from './creation/creation.ts';
import { literalRows } from './creation/literals.ts';
import { einsumRows } from './einsum/einsum.ts';
import { embeddingRows } from './embedding.ts';
import { advancedIndexingRows } from './indexing/advanced-indexing.ts';
import { gatherScatterRows } from './indexing/gather-scatter.ts';
import { indexSliceRows } from './indexing/index-slices.ts';
import { transformerRows } from './nested/transformer.ts';
import { batchNormRows } from './normalization/batch-norm.ts';
import { dropoutFamilyRows } from './normalization/dropout.ts';
import { normalizationRows } from './normalization/normalization.ts';
import { rescalingRows } from './normalization/rescaling.ts';
import { activationRows } from './pointwise/activation.ts';
import { arithmeticRows } from './pointwise/arithmetic.ts';
import { comparisonRows } from './pointwise/comparison.ts';
import { unaryRows } from './pointwise/unary.ts';
import { poolingRows } from './pooling/pooling.ts';
import { matrixProductRows } from './products/matrix-product.ts';
import { randomRows } from './random/random.ts';
import { packedSequenceRows } from './recurrent/packed-sequence.ts';
import { recurrentRows } from './recurrent/recurrent.ts';
import { reductionRows } from './reductions/reductions.ts';
import { scanRows } from './reductions/scans.ts';
import { resamplingRows } from './resampling/upsample.ts';
import { scalarRows } from './scalar/rows.ts';
import { sortRows } from './sorting/sort.ts';
import { viewRows } from './views/views.ts';

const tensorRows: readonly OperatorRow[] = [
  ...arithmeticRows,
  ...unaryRows,
  ...activationRows,
  ...comparisonRows,
  ...conversionRows,
  ...creationRows,
  ...literalRows,
  ...scanRows,
  ...randomRows,
  ...reductionRows,
  ...viewRows,
  ...joiningRows,
  ...rearrangingRows,
  ...advancedIndexingRows,
  ...gatherScatterRows,
  ...indexSliceRows,
];

/** Every row that the library carries in any case, family by family. */
export const families: readonly (readonly OperatorRow[])[] = [
  scalarRows,
  tensorRows,
  aliasRows(tensorRows),
  matrixProductRows,
  einsumRows,
  convolutionRows,
  poolingRows,
  normalizationRows,
  batchNormRows,
  softmaxRows,
  attentionRows,
  dropoutFamilyRows,
  embeddingRows,
  packedSequenceRows,
  paddingRows,
  pixelShuffleRows,
  recurrentRows,
  sortRows,
  rescalingRows,
  transformerRows,
  resamplingRows,
];
