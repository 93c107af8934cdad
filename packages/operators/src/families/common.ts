import type { OperatorRow } from '../table/row.ts';
import { joiningRows } from './arranging/joining.ts';
import { repeatingRows } from './arranging/repeating.ts';
import { softmaxRows } from './attention/softmax.ts';
import { convolutionRows } from './convolution/convolution.ts';
import { conversionRows } from './creation/conversion.ts';
import { creationRows } from './creation/creation.ts';
import { literalRows } from './creation/literals.ts';
import { embeddingRows } from './embedding/embedding.ts';
import { embeddingRenormRows } from './embedding/renorm.ts';
import { indexSelectRows } from './indexing/index-select.ts';
import { batchNormRows } from './normalization/batch-norm.ts';
import { dropoutFamilyRows } from './normalization/dropout.ts';
import { normalizationRows } from './normalization/normalization.ts';
import { activationRows } from './pointwise/activation.ts';
import { arithmeticRows } from './pointwise/arithmetic.ts';
import { comparisonRows } from './pointwise/comparison.ts';
import { unaryRows } from './pointwise/unary.ts';
import { poolingRows } from './pooling/pooling.ts';
import { matrixProductRows } from './products/matrix-product.ts';
import { reductionRows } from './reductions/reductions.ts';
import { scalarRows } from './scalar/rows.ts';
import { viewRows } from './views/views.ts';

/** Rows that the library carries in any case: what models are mostly made of. */
export const commonRows: readonly OperatorRow[] = [
  ...scalarRows,
  ...arithmeticRows,
  ...unaryRows,
  ...activationRows,
  ...comparisonRows,
  ...conversionRows,
  ...creationRows,
  ...literalRows,
  ...reductionRows,
  ...viewRows,
  ...joiningRows,
  ...repeatingRows,
  ...indexSelectRows,
  ...matrixProductRows,
  ...convolutionRows,
  ...poolingRows,
  ...normalizationRows,
  ...batchNormRows,
  ...softmaxRows,
  ...dropoutFamilyRows,
  ...embeddingRows,
  ...embeddingRenormRows,
];
