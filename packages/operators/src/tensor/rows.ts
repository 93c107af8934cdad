import type { OperatorRow } from '../row.ts';
import { activationRows } from './activation.ts';
import { advancedIndexingRows } from './advanced-indexing.ts';
import { aliasRows } from './aliases.ts';
import { arithmeticRows } from './arithmetic.ts';
import { comparisonRows } from './comparison.ts';
import { conversionRows } from './conversion.ts';
import { creationRows } from './creation.ts';
import { gatherScatterRows } from './gather-scatter.ts';
import { indexSliceRows } from './index-slices.ts';
import { joiningRows } from './joining.ts';
import { literalRows } from './literals.ts';
import { randomRows } from './random.ts';
import { rearrangingRows } from './rearranging.ts';
import { reductionRows } from './reductions.ts';
import { scanRows } from './scans.ts';
import { unaryRows } from './unary.ts';
import { viewRows } from './views.ts';

const named: readonly OperatorRow[] = [
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

/** Operators on tensors outside `nn`, with second names. */
export const tensorRows: readonly OperatorRow[] = [...named, ...aliasRows(named)];
