import type { FloatArray, Matrix } from '../../kernels/numbers/numbers.ts';
import { giveUpScratch, scratch } from '@cresset/tensor';
import { finish, PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';

const tile = 4;

/**
 * Matrix product on the host: `c[i, j] = Σ_k a[i, k] · b[k, j]` (added to `c` where `accumulate`), `c` in rows of
 * `rowLength` from `offset`. Sums are kept in doubles and rounded once at the end.
 *
 * Both sides are packed into panels of four rows or columns so that the inner kernel reads memory in order and keeps
 * sixteen sums in registers.
 */
export function gemm(
  m: number,
  n: number,
  k: number,
  a: Matrix,
  b: Matrix,
  c: FloatArray,
  offset: number,
  rowLength: number,
  accumulate = false,
): void {
  finish(gemmPieces(m, n, k, a, b, c, offset, rowLength, accumulate));
}

/** As `gemm`, in pieces. */
export function* gemmPieces(
  m: number,
  n: number,
  k: number,
  a: Matrix,
  b: Matrix,
  c: FloatArray,
  offset: number,
  rowLength: number,
  accumulate = false,
): Pieces {
  if (m === 0 || n === 0) return;
  if (m === 1 || n === 1) {
    yield* gemv(m, n, k, a, b, c, offset, rowLength, accumulate);
    return;
  }
  const left = yield* pack(a.data, a.offset, a.rowStride, a.columnStride, m, k);
  const right = yield* pack(b.data, b.offset, b.columnStride, b.rowStride, n, k);
  const corner = new Float64Array(tile * tile);
  let done = 0;
  for (let j = 0; j < n; j += tile) {
    const columns = Math.min(tile, n - j);
    for (let i = 0; i < m; i += tile) {
      multiplyPanels(k, left, i * k, right, j * k, corner);
      const rows = Math.min(tile, m - i);
      for (let r = 0; r < rows; r++) {
        const at = offset + (i + r) * rowLength + j;
        for (let s = 0; s < columns; s++) {
          c[at + s] = accumulate ? c[at + s] + corner[r * tile + s] : corner[r * tile + s];
        }
      }
      done += tile * tile * k;
      if (done < PIECE_SIZE) continue;
      done = 0;
      yield;
    }
  }
  giveUpScratch(left, right);
}

/** One row or one column: packing would cost more than the product. */
function* gemv(
  m: number,
  n: number,
  k: number,
  a: Matrix,
  b: Matrix,
  c: FloatArray,
  offset: number,
  rowLength: number,
  accumulate: boolean,
): Pieces {
  // With one column, the product is that of the transposes with one row.
  const [vector, matrix, count, step] = m === 1 ? [a, b, n, 1] : [transposed(b), transposed(a), m, rowLength];
  const store = (j: number, sum: number): void => {
    c[offset + j * step] = accumulate ? c[offset + j * step] + sum : sum;
  };
  if (matrix.columnStride === 1 && matrix.rowStride !== 1 && count > 1) {
    // Columns lie side by side: go through the matrix row by row instead of jumping through memory.
    const sums = scratch(Float64Array, count);
    const rows = Math.max(1, Math.floor(PIECE_SIZE / count));
    for (let i = 0; i < k; i += rows) {
      if (i > 0) yield;
      addRows(sums, vector, matrix, i, Math.min(k, i + rows));
    }
    yield* repeat(count, 8, (j) => store(j, sums[j]));
    giveUpScratch(sums);
    return;
  }
  const sums = new Float64Array(2);
  let done = 0;
  for (let j = 0; j < count; j++) {
    sums.fill(0);
    for (let i = 0; i < k; i += PIECE_SIZE) {
      const end = Math.min(k, i + PIECE_SIZE);
      addProducts(sums, vector, matrix, j, i, end);
      done += end - i;
      if (done < PIECE_SIZE) continue;
      done = 0;
      yield;
    }
    store(j, sums[0] + sums[1]);
  }
}

/** Adds rows of a matrix, each times its element of a vector. */
function addRows(sums: Float64Array, vector: Matrix, matrix: Matrix, start: number, end: number): void {
  const x = vector.data;
  const y = matrix.data;
  const count = sums.length;
  for (let i = start; i < end; i++) {
    const value = x[vector.offset + i * vector.columnStride];
    const row = matrix.offset + i * matrix.rowStride;
    for (let j = 0; j < count; j++) sums[j] += value * y[row + j];
  }
}

/** Adds products of a vector's elements and a column's to two sums, of those at even places and at odd ones. */
function addProducts(
  sums: Float64Array,
  vector: Matrix,
  matrix: Matrix,
  column: number,
  start: number,
  end: number,
): void {
  const x = vector.data;
  const y = matrix.data;
  const vectorStep = vector.columnStride;
  const along = matrix.rowStride;
  let position = matrix.offset + column * matrix.columnStride + start * along;
  let at = vector.offset + start * vectorStep;
  let even = sums[0];
  let odd = sums[1];
  let i = start;
  for (; i + 1 < end; i += 2) {
    even += x[at] * y[position];
    odd += x[at + vectorStep] * y[position + along];
    at += 2 * vectorStep;
    position += 2 * along;
  }
  if (i < end) even += x[at] * y[position];
  sums[0] = even;
  sums[1] = odd;
}

function transposed(matrix: Matrix): Matrix {
  return { ...matrix, rowStride: matrix.columnStride, columnStride: matrix.rowStride };
}

/** Panels of four lines, their elements interleaved; lines that are missing at the end are zeros. */
function* pack(
  data: FloatArray,
  offset: number,
  lineStride: number,
  step: number,
  lines: number,
  length: number,
): Pieces<FloatArray> {
  const panels = Math.ceil(lines / tile);
  const size = panels * tile * length;
  const packed = scratch<FloatArray>(data instanceof Float32Array ? Float32Array : Float64Array, size);
  yield* repeat(panels, 4 * tile * length, (panel) => {
    const line = panel * tile;
    const from = offset + line * lineStride;
    const to = line * length;
    // Lines that lie side by side are read four at a time, in the order they lie in memory.
    if (lineStride === 1 && line + tile <= lines) packBeside(packed, to, data, from, step, length);
    else packApart(packed, to, data, from, lineStride, step, Math.min(tile, lines - line), length);
  });
  return packed;
}

function packBeside(
  packed: FloatArray,
  to: number,
  data: FloatArray,
  from: number,
  step: number,
  length: number,
): void {
  for (let i = 0; i < length; i++) {
    packed[to] = data[from];
    packed[to + 1] = data[from + 1];
    packed[to + 2] = data[from + 2];
    packed[to + 3] = data[from + 3];
    to += tile;
    from += step;
  }
}

function packApart(
  packed: FloatArray,
  start: number,
  data: FloatArray,
  offset: number,
  lineStride: number,
  step: number,
  lines: number,
  length: number,
): void {
  for (let line = 0; line < lines; line++) {
    let to = start + line;
    let from = offset + line * lineStride;
    for (let i = 0; i < length; i++) {
      packed[to] = data[from];
      to += tile;
      from += step;
    }
  }
}

function multiplyPanels(k: number, a: FloatArray, fromA: number, b: FloatArray, fromB: number, c: Float64Array): void {
  let c00 = 0;
  let c01 = 0;
  let c02 = 0;
  let c03 = 0;
  let c10 = 0;
  let c11 = 0;
  let c12 = 0;
  let c13 = 0;
  let c20 = 0;
  let c21 = 0;
  let c22 = 0;
  let c23 = 0;
  let c30 = 0;
  let c31 = 0;
  let c32 = 0;
  let c33 = 0;
  let p = fromA;
  let q = fromB;
  for (let i = 0; i < k; i++) {
    const b0 = b[q];
    const b1 = b[q + 1];
    const b2 = b[q + 2];
    const b3 = b[q + 3];
    const a0 = a[p];
    c00 += a0 * b0;
    c01 += a0 * b1;
    c02 += a0 * b2;
    c03 += a0 * b3;
    const a1 = a[p + 1];
    c10 += a1 * b0;
    c11 += a1 * b1;
    c12 += a1 * b2;
    c13 += a1 * b3;
    const a2 = a[p + 2];
    c20 += a2 * b0;
    c21 += a2 * b1;
    c22 += a2 * b2;
    c23 += a2 * b3;
    const a3 = a[p + 3];
    c30 += a3 * b0;
    c31 += a3 * b1;
    c32 += a3 * b2;
    c33 += a3 * b3;
    p += tile;
    q += tile;
  }
  c[0] = c00;
  c[1] = c01;
  c[2] = c02;
  c[3] = c03;
  c[4] = c10;
  c[5] = c11;
  c[6] = c12;
  c[7] = c13;
  c[8] = c20;
  c[9] = c21;
  c[10] = c22;
  c[11] = c23;
  c[12] = c30;
  c[13] = c31;
  c[14] = c32;
  c[15] = c33;
}
