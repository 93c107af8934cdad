import type { OperatorRow } from '../row.ts';
import { activationRows } from './activation.ts';
import { advancedIndexingRows } from './advanced-indexing.ts';
import { arithmeticRows } from './arithmetic.ts';
import { comparisonRows } from './comparison.ts';
import { conversionRows } from './conversion.ts';
import { creationRows } from './creation.ts';
import { gatherScatterRows } from './gather-scatter.ts';
import { joiningRows } from './joining.ts';
import { literalRows } from './literals.ts';
import { randomRows } from './random.ts';
import { reductionRows } from './reductions.ts';
import { unaryRows } from './unary.ts';
import { viewRows } from './views.ts';

/** Operators on tensors outside `nn`. */
export const tensorRows: readonly OperatorRow[] = [
  ...arithmeticRows,
  ...unaryRows,
  ...activationRows,
  ...comparisonRows,
  ...conversionRows,
  ...creationRows,
  ...literalRows,
  ...randomRows,
  ...reductionRows,
  ...viewRows,
  ...joiningRows,
  ...advancedIndexingRows,
  ...gatherScatterRows,
];
