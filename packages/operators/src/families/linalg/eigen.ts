import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { Matrix, quotient } from './matrix.ts';

/** Eigenvalues of a square matrix as a row, and right eigenvectors in columns of length one. */
export interface Eigen {
  readonly values: Matrix;
  readonly vectors: Matrix;
}

const iterationsPerValue = 60;
/** What it takes to rotate a pair of elements, in operations: those of a column lie far from each other. */
const ROTATION_COST = 24;

/**
 * Eigenvalues and eigenvectors by the shifted QR method on a Hessenberg form. Of a real matrix, values come in exactly
 * conjugate pairs with the positive imaginary part first, as LAPACK's geev gives them.
 */
export function* eigen(matrix: Matrix, isReal: boolean): Pieces<Eigen> {
  const n = matrix.rows;
  const q = Matrix.identity(n);
  const t = matrix.clone();
  yield* reduceToHessenberg(t, q);
  yield* reduceToTriangle(t, q);
  const values = new Matrix(1, n);
  for (let i = 0; i < n; i++) values.set(0, i, ...t.at(i, i));
  const vectors = normalised(yield* q.multiply(yield* triangularVectors(t)));
  return isReal ? pairConjugates(values, vectors) : { values, vectors };
}

/** Givens rotation G = [[c, s], [−s̄, c]] with G·(a, b) = (r, 0); c is real. */
function givens(a: readonly [number, number], b: readonly [number, number]): [number, number, number] {
  const size = Math.hypot(...a);
  const other = Math.hypot(...b);
  if (other === 0) return [1, 0, 0];
  if (size === 0) return [0, b[0] / other, -b[1] / other];
  const length = Math.hypot(size, other);
  const [ure, uim] = [a[0] / size, a[1] / size];
  // s = (a/|a|)·b̄ / length
  return [size / length, (ure * b[0] + uim * b[1]) / length, (uim * b[0] - ure * b[1]) / length];
}

function rotateRows(m: Matrix, p: number, q: number, [c, sre, sim]: readonly number[], start: number): void {
  for (let j = start; j < m.columns; j++) {
    const [xre, xim] = m.at(p, j);
    const [yre, yim] = m.at(q, j);
    m.set(p, j, c * xre + sre * yre - sim * yim, c * xim + sre * yim + sim * yre);
    m.set(q, j, c * yre - sre * xre - sim * xim, c * yim - sre * xim + sim * xre);
  }
}

/** Multiplies by the adjoint of the rotation from the right. */
function rotateColumns(m: Matrix, p: number, q: number, [c, sre, sim]: readonly number[], end: number): void {
  for (let i = 0; i < end; i++) {
    const [xre, xim] = m.at(i, p);
    const [yre, yim] = m.at(i, q);
    m.set(i, p, c * xre + sre * yre + sim * yim, c * xim + sre * yim - sim * yre);
    m.set(i, q, c * yre - sre * xre + sim * xim, c * yim - sre * xim - sim * xre);
  }
}

/** Zeros below the first subdiagonal, by rotations, which `q` takes up. */
function* reduceToHessenberg(t: Matrix, q: Matrix): Pieces {
  const n = t.rows;
  for (let k = 0; k < n - 2; k++) {
    yield* repeat(n - k - 2, 3 * ROTATION_COST * n, (step) => {
      const i = n - 1 - step;
      const turn = givens(t.at(i - 1, k), t.at(i, k));
      if (turn[1] === 0 && turn[2] === 0) return;
      rotateRows(t, i - 1, i, turn, k);
      rotateColumns(t, i - 1, i, turn, n);
      rotateColumns(q, i - 1, i, turn, n);
      t.set(i, k, 0, 0);
    });
    yield;
  }
}

/** The eigenvalue of the trailing 2×2 block nearest to its last element (Wilkinson's shift). */
function shiftOf(t: Matrix, last: number): [number, number] {
  const [are, aim] = t.at(last - 1, last - 1);
  const [dre, dim] = t.at(last, last);
  const [bre, bim] = t.at(last - 1, last);
  const [cre, cim] = t.at(last, last - 1);
  const [hre, him] = [(are - dre) / 2, (aim - dim) / 2];
  const [pre, pim] = [bre * cre - bim * cim, bre * cim + bim * cre];
  let [rre, rim] = squareRoot(hre * hre - him * him + pre, 2 * hre * him + pim);
  if (hre * rre + him * rim < 0) [rre, rim] = [-rre, -rim];
  const [sre, sim] = [hre + rre, him + rim];
  if (sre === 0 && sim === 0) return [dre, dim];
  const [fre, fim] = quotient(pre, pim, sre, sim);
  return [dre - fre, dim - fim];
}

function squareRoot(re: number, im: number): [number, number] {
  const size = Math.hypot(re, im);
  const root = Math.sqrt((size + Math.abs(re)) / 2);
  if (root === 0) return [0, 0];
  const other = im / (2 * root);
  return re >= 0 ? [root, other] : [Math.abs(other), im < 0 ? -root : root];
}

function* reduceToTriangle(t: Matrix, q: Matrix): Pieces {
  const n = t.rows;
  let last = n - 1;
  let iterations = 0;
  while (last > 0) {
    let first = last;
    for (; first > 0; first--) {
      const near = Math.hypot(...t.at(first, first)) + Math.hypot(...t.at(first - 1, first - 1));
      const below = Math.hypot(...t.at(first, first - 1));
      if (below <= Number.EPSILON * near || below < 1e-300) {
        t.set(first, first - 1, 0, 0);
        break;
      }
    }
    if (first === last || ++iterations > iterationsPerValue) {
      last--;
      iterations = 0;
      continue;
    }
    const [sre, sim] = shiftOf(t, last);
    // Cycles are broken by a shift that has nothing to do with the matrix's structure.
    const kick = iterations % 10 === 0 ? Math.hypot(...t.at(last, last - 1)) : 0;
    yield* qrStep(t, q, first, last, sre + kick, sim);
    yield;
  }
}

function* qrStep(t: Matrix, q: Matrix, first: number, last: number, sre: number, sim: number): Pieces {
  const n = t.rows;
  const shiftDiagonal = (sign: number): void => {
    for (let i = first; i <= last; i++) {
      const [re, im] = t.at(i, i);
      t.set(i, i, re + sign * sre, im + sign * sim);
    }
  };
  shiftDiagonal(-1);
  const turns: [number, number, number][] = [];
  // Rows outside the active block are scaled by nothing: the rotations reach past it only to keep T similar to A.
  yield* repeat(last - first, ROTATION_COST * n, (at) => {
    const k = first + at;
    const turn = givens(t.at(k, k), t.at(k + 1, k));
    turns.push(turn);
    rotateRows(t, k, k + 1, turn, k);
  });
  yield* repeat(turns.length, 2 * ROTATION_COST * n, (at) => {
    rotateColumns(t, first + at, first + at + 1, turns[at], Math.min(first + at + 2, last + 1));
    rotateColumns(q, first + at, first + at + 1, turns[at], n);
  });
  shiftDiagonal(1);
}

/** Eigenvectors of an upper triangular matrix, in columns, by substitution. */
function* triangularVectors(t: Matrix): Pieces<Matrix> {
  const n = t.rows;
  let norm = 0;
  for (let i = 0; i < t.re.length; i++) norm = Math.max(norm, Math.hypot(t.re[i], t.im[i]));
  const smallest = Number.EPSILON * (norm || 1);
  const result = Matrix.identity(n);
  yield* repeat(n, n * n, (k) => {
    const [lre, lim] = t.at(k, k);
    for (let i = k - 1; i >= 0; i--) {
      let [re, im] = [0, 0];
      for (let j = i + 1; j <= k; j++) {
        const [are, aim] = t.at(i, j);
        const [vre, vim] = result.at(j, k);
        re -= are * vre - aim * vim;
        im -= are * vim + aim * vre;
      }
      const [dre, dim] = t.at(i, i);
      const [gre, gim] = [dre - lre, dim - lim];
      const apart = Math.hypot(gre, gim) >= smallest;
      result.set(i, k, ...quotient(re, im, apart ? gre : smallest, apart ? gim : 0));
    }
  });
  return result;
}

/** Columns of length one whose largest element is real. */
function normalised(vectors: Matrix): Matrix {
  const n = vectors.rows;
  const result = vectors.clone();
  for (let j = 0; j < n; j++) {
    let [length, most, ure, uim] = [0, 0, 1, 0];
    for (let i = 0; i < n; i++) {
      const [re, im] = vectors.at(i, j);
      const size = Math.hypot(re, im);
      length = Math.hypot(length, size);
      if (size > most) [most, ure, uim] = [size, re / size, im / size];
    }
    if (length === 0) continue;
    for (let i = 0; i < n; i++) {
      const [re, im] = vectors.at(i, j);
      result.set(i, j, (re * ure + im * uim) / length, (im * ure - re * uim) / length);
    }
  }
  return result;
}

function pairConjugates(values: Matrix, vectors: Matrix): Eigen {
  const n = values.columns;
  let scale = 0;
  for (let i = 0; i < n; i++) scale = Math.max(scale, Math.hypot(...values.at(0, i)));
  const left = new Set(Array.from({ length: n }, (_, i) => i));
  const order: { from: number; conjugate: boolean; real: boolean }[] = [];
  for (const i of left) {
    left.delete(i);
    const [re, im] = values.at(0, i);
    const isPair = Math.abs(im) > 1e-12 * scale;
    let partner = -1;
    let nearest = Infinity;
    if (isPair) {
      for (const j of left) {
        const distance = Math.hypot(values.re[j] - re, values.im[j] + im);
        if (distance < nearest) [nearest, partner] = [distance, j];
      }
    }
    if (partner === -1) {
      order.push({ from: i, conjugate: false, real: true });
      continue;
    }
    left.delete(partner);
    order.push({ from: i, conjugate: im < 0, real: false }, { from: i, conjugate: im > 0, real: false });
  }
  const sign = (j: number): number => (order[j].conjugate ? -1 : 1);
  return {
    values: Matrix.build(1, n, (_, j) => {
      const [re, im] = values.at(0, order[j].from);
      return [re, order[j].real ? 0 : sign(j) * im];
    }),
    vectors: Matrix.build(n, n, (i, j) => {
      const [re, im] = vectors.at(i, order[j].from);
      return [re, order[j].real ? 0 : sign(j) * im];
    }),
  };
}
