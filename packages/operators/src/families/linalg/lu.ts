import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { Matrix, quotient } from './matrix.ts';

/** An LU factorisation as LAPACK's getrf leaves it. */
export interface LuFactors {
  /** L below the diagonal (ones on it are left out), U on and above it. */
  readonly lu: Matrix;
  /** Row i was exchanged with row pivots[i] (counted from 1), in order. */
  readonly pivots: Int32Array;
  /** 0, or the first position (from 1) where U has a zero on its diagonal. */
  readonly info: number;
}

/** Gaussian elimination with partial pivoting (or none); the pivot is the largest in |re| + |im|, the first of equals. */
export function* luFactor(matrix: Matrix, pivot = true): Pieces<LuFactors> {
  const lu = matrix.clone();
  const { rows, columns } = lu;
  const steps = Math.min(rows, columns);
  const pivots = new Int32Array(steps);
  let info = 0;
  yield* repeat(steps, rows * columns, (k) => {
    const best = pivot ? pivotRow(lu, k) : k;
    pivots[k] = best + 1;
    lu.swapRows(k, best);
    if (!eliminateBelow(lu, k)) info ||= k + 1;
  });
  return { lu, pivots, info };
}

function pivotRow({ rows, columns, re, im }: Matrix, k: number): number {
  let best = k;
  let most = -1;
  for (let i = k; i < rows; i++) {
    const size = Math.abs(re[i * columns + k]) + Math.abs(im[i * columns + k]);
    if (size > most) [most, best] = [size, i];
  }
  return best;
}

/** False where there is nothing to divide by. */
function eliminateBelow(lu: Matrix, k: number): boolean {
  const { rows, columns, re, im } = lu;
  const [pre, pim] = lu.at(k, k);
  if (pre === 0 && pim === 0) return false;
  for (let i = k + 1; i < rows; i++) {
    const [fre, fim] = quotient(...lu.at(i, k), pre, pim);
    lu.set(i, k, fre, fim);
    if (fre === 0 && fim === 0) continue;
    for (let j = k + 1; j < columns; j++) {
      const from = k * columns + j;
      const to = i * columns + j;
      re[to] -= fre * re[from] - fim * im[from];
      im[to] -= fre * im[from] + fim * re[from];
    }
  }
  return true;
}

/** The permutation that the exchanges of `pivots` make of rows: row i of PA is row `result[i]` of A. */
export function permutationOf(pivots: ArrayLike<number>, rows: number): number[] {
  const order = Array.from({ length: rows }, (_, i) => i);
  for (let i = 0; i < pivots.length; i++) {
    const other = pivots[i] - 1;
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/** P with A = P·L·U. */
export function permutationMatrix(pivots: ArrayLike<number>, rows: number): Matrix {
  const result = new Matrix(rows, rows);
  permutationOf(pivots, rows).forEach((from, i) => (result.re[from * rows + i] = 1));
  return result;
}

/** Solves T·X = B for a triangular T; only the named triangle of `triangular` is read. */
export function* solveTriangular(triangular: Matrix, b: Matrix, upper: boolean, unit = false): Pieces<Matrix> {
  const x = b.clone();
  const { rows, columns } = x;
  yield;
  yield* repeat(rows, rows * columns, (step) =>
    substituteRow(triangular, x, upper ? rows - 1 - step : step, upper, unit),
  );
  return x;
}

function substituteRow(triangular: Matrix, x: Matrix, i: number, upper: boolean, unit: boolean): void {
  const { rows, columns, re, im } = x;
  const [first, last] = upper ? [i + 1, rows] : [0, i];
  for (let k = first; k < last; k++) {
    const [tre, tim] = triangular.at(i, k);
    if (tre === 0 && tim === 0) continue;
    for (let j = 0; j < columns; j++) {
      const from = k * columns + j;
      re[i * columns + j] -= tre * re[from] - tim * im[from];
      im[i * columns + j] -= tre * im[from] + tim * re[from];
    }
  }
  if (unit) return;
  const diagonal = triangular.at(i, i);
  for (let j = 0; j < columns; j++) x.set(i, j, ...quotient(...x.at(i, j), ...diagonal));
}

/** Solves A·X = B, or with `adjoint` Aᴴ·X = B, from A's factors. */
export function* luSolve(lu: Matrix, pivots: ArrayLike<number>, b: Matrix, adjoint = false): Pieces<Matrix> {
  const order = permutationOf(pivots, lu.rows);
  if (!adjoint) {
    const permuted = yield* Matrix.inRows(b.rows, b.columns, (i, j) => b.at(order[i], j));
    return yield* solveTriangular(lu, yield* solveTriangular(lu, permuted, false, true), true);
  }
  const transposed = lu.adjoint();
  const y = yield* solveTriangular(transposed, yield* solveTriangular(transposed, b, false), true, true);
  const places = new Int32Array(order.length);
  order.forEach((to, i) => (places[to] = i));
  return yield* Matrix.inRows(b.rows, b.columns, (i, j) => y.at(places[i], j));
}

/** The sign (a complex number of magnitude one, or zero) and the logarithm of the magnitude of a determinant. */
export function signAndLogDeterminant({ lu, pivots }: LuFactors): { sign: [number, number]; log: number } {
  let sign: [number, number] = [1, 0];
  let log = 0;
  for (let i = 0; i < lu.rows; i++) {
    const [re, im] = lu.at(i, i);
    const size = Math.hypot(re, im);
    log += Math.log(size);
    // Of a number that is no number the sign is 0, as torch.sgn has it.
    const [ure, uim] = im === 0 ? [Math.sign(re) || 0, 0] : [re / size, im / size];
    sign = [sign[0] * ure - sign[1] * uim, sign[0] * uim + sign[1] * ure];
    if (pivots[i] !== i + 1) sign = [-sign[0], -sign[1]];
  }
  return { sign, log };
}

export function determinant({ lu, pivots }: LuFactors): [number, number] {
  let result: [number, number] = [1, 0];
  for (let i = 0; i < lu.rows; i++) {
    const [re, im] = lu.at(i, i);
    result = [result[0] * re - result[1] * im, result[0] * im + result[1] * re];
    if (pivots[i] !== i + 1) result = [-result[0], -result[1]];
  }
  return result;
}
