import type { OperatorRow } from '../../table/row.ts';
import { einsumRows } from './einsum.ts';
import { groupedProductRows } from './grouped-product.ts';
import { tensordotRows } from './tensordot.ts';

/** Products along named dimensions, and of groups of rows. */
export const contractionRows: readonly OperatorRow[] = [...einsumRows, ...tensordotRows, ...groupedProductRows];
