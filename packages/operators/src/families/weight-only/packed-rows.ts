import type { Expr } from '@cresset/tensorexpr';
import { binary } from '@cresset/tensorexpr';
import { add, index, indexParam, mul, sub } from '../../kernels/expressions.ts';

/**
 * How weights of four bits lie that share bytes (ATen/native/cpu/int4mm_kernel.cpp, as PyTorch has it on processors with AVX-512, and as files
 * hold it that were written there): rows in blocks of 64, in a block one column after the other, in a column two rows to a byte.
 */

/** Rows of a block; what is left behind the last whole one is a smaller block. */
const BLOCK = 64;

/** Rows that lie in blocks of the same size, one after the other. */
export interface PackedRows {
  readonly first: number;
  readonly count: number;
  readonly block: number;
}

/** The rows of a matrix, as far as they lie alike: whole blocks, and what is left. */
export function packedRows(rows: number): PackedRows[] {
  const left = rows % BLOCK;
  const whole = { first: 0, count: rows - left, block: BLOCK };
  return [whole, { first: rows - left, count: left, block: left }].filter(({ count }) => count > 0);
}

/** The blocks of a matrix one by one. */
export function packedBlocks(rows: number): PackedRows[] {
  return packedRows(rows).flatMap(({ first, count, block }) =>
    Array.from({ length: count / block }, (_, at) => ({ first: first + at * block, count: block, block })),
  );
}

/** The rows within a block of which a byte of a column has the lower and the upper half: of a whole block one from each half, else neighbours. */
export const rowsOfByte = (block: number, byte: number): readonly [lower: number, upper: number] =>
  block === BLOCK ? [byte, byte + BLOCK / 2] : [2 * byte, 2 * byte + 1];

/** As {@link rowsOfByte}, for a device. */
export const rowsOfByteExpr = (block: number, byte: Expr): readonly [lower: Expr, upper: Expr] =>
  block === BLOCK ? [byte, add(byte, index(BLOCK / 2))] : [mul(byte, index(2)), add(mul(byte, index(2)), index(1))];

/** The first byte of a column of a block. */
export function columnStart({ first, block }: PackedRows, at: Expr, column: Expr, columns: number): Expr {
  const start = add(indexParam((first * columns) / 2), mul(at, indexParam((block / 2) * columns)));
  return add(start, mul(column, indexParam(block / 2)));
}

/**
 * Where one of these rows has its weight of a column, for a device: in a byte, which times `factor` has the four bits in its upper half. Nothing in
 * it but the byte's place changes from column to column.
 */
export function weightPlace(rows: PackedRows, row: Expr, column: Expr, columns: number): { byte: Expr; factor: Expr } {
  const [at, within] = [binary('truncdiv', row, index(rows.block)), binary('fmod', row, index(rows.block))];
  const isWhole = rows.block === BLOCK;
  const half = index(BLOCK / 2);
  const byte = isWhole ? binary('fmod', within, half) : binary('truncdiv', within, index(2));
  const isUpper = isWhole ? binary('truncdiv', within, half) : binary('fmod', within, index(2));
  return {
    byte: add(columnStart(rows, at, column, columns), byte),
    factor: sub(index(16), mul(isUpper, index(15))),
  };
}
