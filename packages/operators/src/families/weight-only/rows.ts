import type { OperatorRow } from '../../table/row.ts';
import { int4ProductRows } from './int4-products.ts';
import { int8ProductRows } from './int8-products.ts';

/** Products of floats with weights of four and of eight bits. */
export const weightOnlyRows: readonly OperatorRow[] = [...int4ProductRows, ...int8ProductRows];
