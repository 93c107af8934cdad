import { Complex, FloatType, IntType, scalarTypeCode, TensorType, type ScalarTypeName } from '@cresset/ir';
import { forEachOffset, isComplex, List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { expect } from 'vitest';
import { boxingOf } from '../table/boxing.ts';
import { readScalar, scalarWriter } from '../kernels/elements.ts';
import { allRows } from '../register-all.ts';
import type { OperatorRow, Scalar } from '../table/row.ts';
import cases from './cases.json' with { type: 'json' };

/** Results of PyTorch's CPU for the rows of this family (see make_cases.py), decoded and compared. */

interface EncodedTensor {
  readonly tensor: ScalarType;
  readonly shape: readonly number[];
  readonly data: readonly (number | string)[];
  readonly strides?: readonly number[];
}

type Encoded =
  | null
  | boolean
  | EncodedTensor
  | { int: string }
  | { float: number | string }
  | { str: string }
  | { dtype: ScalarTypeName }
  | Encoded[];

export interface OracleCase {
  readonly op: string;
  readonly args: Record<string, Encoded>;
  readonly results?: readonly Encoded[];
  /** Arguments that were written to, as they are afterwards. */
  readonly after?: Record<string, Encoded>;
  readonly raises?: string;
}

const special: Record<string, number> = { nan: NaN, inf: Infinity, '-inf': -Infinity };
const numberOf = (value: number | string): number => (typeof value === 'string' ? special[value] : value);

function decodeTensor({ tensor: dtype, shape, data, strides }: EncodedTensor): Tensor {
  const contiguous = Tensor.empty(shape, dtype);
  const spread = strides
    ? Tensor.empty([1 + shape.reduce((last, size, dim) => last + (size - 1) * strides[dim], 0)], dtype)
    : null;
  const tensor = spread ? spread.asStrided(shape, strides!) : contiguous;
  const write = scalarWriter(tensor);
  const values = data.map(numberOf);
  let at = 0;
  forEachOffset(tensor.sizes, tensor.strides, 0, (offset) => {
    const value: Scalar = isComplex(dtype) ? new Complex(values[at++], values[at++]) : values[at++];
    write(offset, dtype === 'int64' ? BigInt(value as number) : value);
  });
  return tensor;
}

function decode(value: Encoded): IValue {
  if (value === null || typeof value === 'boolean') return value;
  if (Array.isArray(value)) {
    const items = value.map(decode);
    const type =
      items[0] instanceof Tensor ? TensorType.get() : typeof items[0] === 'number' ? FloatType.get() : IntType.get();
    return new List(type, items);
  }
  if ('tensor' in value) return decodeTensor(value);
  if ('int' in value) return BigInt(value.int);
  if ('float' in value) return numberOf(value.float);
  if ('dtype' in value) return BigInt(scalarTypeCode(value.dtype));
  return value.str;
}

/** A case with a name of its own. */
export interface NamedCase {
  readonly name: string;
  readonly example: OracleCase;
}

const rows = new Map<string, OperatorRow>();
for (const row of allRows()) {
  rows.set(row.schema.slice(0, row.schema.indexOf('(')), row);
}

export function rowOf({ op }: OracleCase): OperatorRow {
  const row = rows.get(op);
  if (!row) throw new Error(`there is no row ${op}`);
  return row;
}

export const oracleCases: readonly NamedCase[] = (cases as unknown as readonly OracleCase[]).map((example, at) => ({
  example,
  name: `${example.op} #${at}`,
}));

/** Largest difference allowed, relative and absolute. */
function tolerance(dtype: ScalarType): number {
  if (dtype === 'float16') return 1e-2;
  return dtype === 'bfloat16' ? 5e-2 : 2e-5;
}

function partsOf(tensor: Tensor): number[] {
  const parts: number[] = [];
  forEachOffset(tensor.sizes, tensor.strides, tensor.storageOffset, (offset) => {
    const value = readScalar(tensor, offset);
    if (value instanceof Complex) parts.push(value.re, value.im);
    else parts.push(Number(value));
  });
  return parts;
}

function expectClose(got: IValue, want: Encoded): void {
  if (want === null || typeof want !== 'object' || !('tensor' in want)) {
    const expected = decode(want);
    if (typeof expected === 'number') expect(got).toBeCloseTo(expected);
    else expect(got).toEqual(expected);
    return;
  }
  expect(got).toBeInstanceOf(Tensor);
  const tensor = got as Tensor;
  expect([tensor.dtype, tensor.sizes]).toEqual([want.tensor, want.shape]);
  const allowed = tolerance(tensor.dtype);
  const expected = want.data.map(numberOf);
  const wrong = partsOf(tensor).findIndex((value, at) => {
    if (Object.is(value, expected[at]) || value === expected[at]) return false;
    return !(Math.abs(value - expected[at]) <= allowed + allowed * Math.abs(expected[at]));
  });
  if (wrong >= 0) expect({ at: wrong, value: partsOf(tensor)[wrong] }).toEqual({ at: wrong, value: expected[wrong] });
}

export function argumentsOf(row: OperatorRow, given: Record<string, Encoded>): IValue[] {
  return boxingOf(row).signature.args.map(({ name }) => decode(given[name] ?? null));
}

export function expectResults(
  got: readonly IValue[],
  args: readonly IValue[],
  row: OperatorRow,
  example: OracleCase,
): void {
  const results = got.length === 1 && got[0] instanceof List ? got[0].items : got;
  expect(results.length).toBe(example.results!.length);
  example.results!.forEach((want, at) => expectClose(results[at], want));
  for (const [name, want] of Object.entries(example.after ?? {})) {
    expectClose(args[boxingOf(row).signature.args.findIndex((argument) => argument.name === name)], want);
  }
}
