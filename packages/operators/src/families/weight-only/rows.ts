import type { OperatorRow } from '../../table/row.ts';
import { int4ProductRows } from './int4-products.ts';
import { int8ProductRows } from './int8-products.ts';
import { integerProductRows } from './integer-product.ts';

/** Products of floats with weights of four and of eight bits, and of bytes. */
export const weightOnlyRows: readonly OperatorRow[] = [...int4ProductRows, ...int8ProductRows, ...integerProductRows];
