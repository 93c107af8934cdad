import type { OperatorRow } from '../../table/row.ts';
import { distributionRows } from './distributions.ts';
import { initializationRows } from './initialization.ts';
import { randomRows } from './random.ts';

/** Random numbers, distributions, and what `torch.nn.init` fills parameters with. */
export const randomFamilyRows: readonly OperatorRow[] = [...randomRows, ...distributionRows, ...initializationRows];
