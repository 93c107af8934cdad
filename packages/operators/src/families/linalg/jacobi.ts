import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { Matrix } from './matrix.ts';

/** Eigenvalues, ascending, and eigenvectors, in columns, of a Hermitian matrix. */
export interface HermitianEigen {
  readonly values: Float64Array;
  readonly vectors: Matrix;
}

const sweeps = 60;
/** Elements of a matrix that is done with before anybody would have a turn. */
const SMALL_MATRIX = 1 << 10;

/** The rotation that annihilates the off-diagonal element of magnitude `off` between diagonal elements p and q. */
function rotation(p: number, q: number, off: number): { c: number; s: number } {
  const zeta = (q - p) / (2 * off);
  const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.hypot(1, zeta));
  const c = 1 / Math.hypot(1, t);
  return { c, s: c * t };
}

/**
 * (x, y) := (c·x − s·e⁻ⁱᵠ·y, s·eⁱᵠ·x + c·y) on columns p and q, where φ is the phase of the element annihilated. It is in
 * `ure`, `uim` = eⁱᵠ.
 */
function rotateColumns(m: Matrix, p: number, q: number, c: number, s: number, ure: number, uim: number): void {
  const { re, im, columns } = m;
  for (let i = 0; i < m.rows; i++) {
    const [x, y] = [i * columns + p, i * columns + q];
    const [xre, xim, yre, yim] = [re[x], im[x], re[y], im[y]];
    re[x] = c * xre - s * (ure * yre + uim * yim);
    im[x] = c * xim - s * (ure * yim - uim * yre);
    re[y] = s * (ure * xre - uim * xim) + c * yre;
    im[y] = s * (ure * xim + uim * xre) + c * yim;
  }
}

/** A sweep over all pairs of lines, each of so many elements: whether any of them was rotated. */
function* sweepOver(lines: number, length: number, rotate: (p: number, q: number) => boolean): Pieces<boolean> {
  let isRotated = false;
  let [p, q] = [0, 0];
  // Elements of a column lie far from each other.
  yield* repeat((lines * (lines - 1)) / 2, 24 * length, () => {
    if (++q === lines) q = ++p + 1;
    if (rotate(p, q)) isRotated = true;
  });
  return isRotated;
}

/** Whether there was anything off the diagonal. */
function annihilate(a: Matrix, vectors: Matrix, p: number, q: number): boolean {
  const n = a.rows;
  const [re, im] = a.at(p, q);
  const off = Math.hypot(re, im);
  const [app, aqq] = [a.re[p * n + p], a.re[q * n + q]];
  if (!(off > 1e-17 * Math.sqrt(Math.abs(app * aqq)) && off > 1e-300)) return false;
  if (Math.abs(app) + off === Math.abs(app) && Math.abs(aqq) + off === Math.abs(aqq)) return false;
  const { c, s } = rotation(app, aqq, off);
  const [ure, uim] = [re / off, im / off];
  rotateColumns(a, p, q, c, s, ure, uim);
  rotateRows(a, p, q, c, s, ure, uim);
  rotateColumns(vectors, p, q, c, s, ure, uim);
  return true;
}

/** Whether two columns were not orthogonal. */
function orthogonalise(work: Matrix, v: Matrix, p: number, q: number): boolean {
  let [alpha, beta, re, im] = [0, 0, 0, 0];
  for (let i = 0; i < work.rows; i++) {
    const [xre, xim] = work.at(i, p);
    const [yre, yim] = work.at(i, q);
    alpha += xre * xre + xim * xim;
    beta += yre * yre + yim * yim;
    re += xre * yre + xim * yim;
    im += xre * yim - xim * yre;
  }
  const off = Math.hypot(re, im);
  if (!(off > 1e-15 * Math.sqrt(alpha * beta) && off > 1e-300)) return false;
  const { c, s } = rotation(alpha, beta, off);
  rotateColumns(work, p, q, c, s, re / off, im / off);
  rotateColumns(v, p, q, c, s, re / off, im / off);
  return true;
}

/** The cyclic Jacobi method; only the triangle named is read. */
export function* hermitianEigen(matrix: Matrix, upper = false): Pieces<HermitianEigen> {
  const n = matrix.rows;
  const a = yield* Matrix.inRows(n, n, (i, j) => {
    if (i === j) return [matrix.re[i * n + i], 0];
    if (i < j === upper) return matrix.at(i, j);
    const [re, im] = matrix.at(j, i);
    return [re, -im];
  });
  const vectors = Matrix.identity(n);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    if (!(yield* sweepOver(n, n, (p, q) => annihilate(a, vectors, p, q)))) break;
    if (matrix.re.length > SMALL_MATRIX) yield;
  }
  const diagonal = a.diagonal();
  const order = Array.from(diagonal.keys()).sort((x, y) => diagonal[x] - diagonal[y]);
  return {
    values: Float64Array.from(order, (i) => diagonal[i]),
    vectors: yield* Matrix.inRows(n, n, (i, j) => vectors.at(i, order[j])),
  };
}

/** The adjoint of what `rotateColumns` does, on rows. */
function rotateRows(m: Matrix, p: number, q: number, c: number, s: number, ure: number, uim: number): void {
  const { re, im, columns } = m;
  for (let j = 0; j < columns; j++) {
    const [x, y] = [p * columns + j, q * columns + j];
    const [xre, xim, yre, yim] = [re[x], im[x], re[y], im[y]];
    re[x] = c * xre - s * (ure * yre - uim * yim);
    im[x] = c * xim - s * (ure * yim + uim * yre);
    re[y] = s * (ure * xre + uim * xim) + c * yre;
    im[y] = s * (ure * xim - uim * xre) + c * yim;
  }
}

/** A = U·diag(S)·Vᴴ with min(m, n) singular values, descending. */
export interface SingularValues {
  readonly u: Matrix;
  readonly s: Float64Array;
  readonly v: Matrix;
}

/** One-sided Jacobi (Hestenes): columns are rotated until they are orthogonal; their lengths are the singular values. */
export function* singularValues(matrix: Matrix): Pieces<SingularValues> {
  if (matrix.rows < matrix.columns) {
    const { u, s, v } = yield* singularValues(matrix.adjoint());
    return { u: v, s, v: u };
  }
  const { rows, columns } = matrix;
  const work = matrix.clone();
  const v = Matrix.identity(columns);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    if (!(yield* sweepOver(columns, rows, (p, q) => orthogonalise(work, v, p, q)))) break;
    if (matrix.re.length > SMALL_MATRIX) yield;
  }
  const lengths = Array.from({ length: columns }, (_, j) => {
    let length = 0;
    for (let i = 0; i < rows; i++) length = Math.hypot(length, ...work.at(i, j));
    return length;
  });
  const order = [...lengths.keys()].sort((x, y) => lengths[y] - lengths[x]);
  const floor = Math.max(...lengths, 0) * 1e-14;
  const u = new Matrix(rows, columns);
  let rank = 0;
  order.forEach((from, j) => {
    if (!(lengths[from] > floor)) return;
    rank = j + 1;
    for (let i = 0; i < rows; i++) {
      const [re, im] = work.at(i, from);
      u.set(i, j, re / lengths[from], im / lengths[from]);
    }
  });
  return {
    u: yield* completeBasis(u, rank, columns),
    s: Float64Array.from(order, (j) => lengths[j]),
    v: yield* Matrix.inRows(columns, columns, (i, j) => v.at(i, order[j])),
  };
}

/** The first `known` columns, orthonormal, and more of them up to `columns`: unit vectors less what lies in those before. */
export function* completeBasis(basis: Matrix, known: number, columns: number): Pieces<Matrix> {
  const { rows } = basis;
  const result = yield* Matrix.inRows(rows, columns, (i, j) => (j < known ? basis.at(i, j) : [0, 0]));
  let candidate = 0;
  for (let j = known; j < columns && candidate < rows; candidate++) {
    const vector = new Matrix(rows, 1);
    vector.re[candidate] = 1;
    // Twice, since once leaves rounding errors along the others.
    for (let pass = 0; pass < 2; pass++) {
      const before = result.leading(rows, j);
      const adjoint = before.adjoint();
      const parts = yield* adjoint.multiply(vector);
      const removed = yield* before.multiply(parts);
      for (let i = 0; i < rows; i++) {
        vector.re[i] -= removed.re[i];
        vector.im[i] -= removed.im[i];
      }
      for (const passed of [before, adjoint, parts, removed]) passed.giveUp();
    }
    yield;
    const length = Math.sqrt(sumOfSquares(vector.re) + sumOfSquares(vector.im));
    // A vector that is nearly spanned already is left out; of `rows` unit vectors enough have at least this length.
    if (length < 0.5 / Math.sqrt(rows)) continue;
    for (let i = 0; i < rows; i++) result.set(i, j, vector.re[i] / length, vector.im[i] / length);
    j++;
  }
  return result;
}

const sumOfSquares = (values: Float64Array): number => values.reduce((sum, value) => sum + value * value, 0);
