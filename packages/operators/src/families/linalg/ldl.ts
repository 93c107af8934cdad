import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { quotient, type Matrix } from './matrix.ts';

type Parts = readonly [number, number];

/** A = P·L·D·Lᵀ·Pᵀ (or with Lᴴ) as LAPACK's sytrf and hetrf leave it in the lower triangle. */
export interface LdlFactors {
  readonly ld: Matrix;
  /** Positive: rows k and pivots[k] were exchanged. A negative pair: a 2×2 block, whose second row was exchanged. */
  readonly pivots: Int32Array;
  readonly info: number;
}

/** What an element takes that is eliminated, in operations. */
const ELEMENT_COST = 24;
/** The growth bound of Bunch and Kaufman. */
const alpha = (1 + Math.sqrt(17)) / 8;

const times = (a: Parts, b: Parts): Parts => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
const minus = (a: Parts, b: Parts): Parts => [a[0] - b[0], a[1] - b[1]];

/** Bunch and Kaufman's diagonal pivoting on the lower triangle. */
export function* ldlFactor(matrix: Matrix, hermitian: boolean): Pieces<LdlFactors> {
  const a = matrix.clone();
  const n = a.rows;
  const pivots = new Int32Array(n);
  const size = (i: number, j: number): number => {
    const [re, im] = i >= j ? a.at(i, j) : a.at(j, i);
    return Math.abs(re) + (hermitian && i === j ? 0 : Math.abs(im));
  };
  let info = 0;
  for (let k = 0; k < n;) {
    let [columnMost, row] = [0, k];
    for (let i = k + 1; i < n; i++) if (size(i, k) > columnMost) [columnMost, row] = [size(i, k), i];
    const own = size(k, k);
    let exchanged = k;
    let step = 1;
    if (Math.max(own, columnMost) === 0) {
      info ||= k + 1;
      pivots[k] = k + 1;
      k++;
      continue;
    }
    if (own < alpha * columnMost) {
      let rowMost = 0;
      for (let j = k; j < n; j++) if (j !== row) rowMost = Math.max(rowMost, size(row, j));
      if (own < alpha * columnMost * (columnMost / rowMost)) {
        exchanged = row;
        if (size(row, row) < alpha * rowMost) step = 2;
      }
    }
    exchange(a, k, k + step - 1, exchanged, hermitian);
    yield* eliminate(a, k, step, hermitian);
    pivots.fill(step === 1 ? exchanged + 1 : -(exchanged + 1), k, k + step);
    k += step;
    yield;
  }
  return { ld: a, pivots, info };
}

/** Exchanges rows and columns `p` and `q` > p of the symmetric matrix whose part from `k` on is left. */
function exchange(a: Matrix, k: number, p: number, q: number, hermitian: boolean): void {
  if (p === q) return;
  const reflect = ([re, im]: Parts): Parts => [re, hermitian ? -im : im];
  const swap = (i: number, j: number, m: number, l: number): void => {
    const held = a.at(i, j);
    a.set(i, j, ...a.at(m, l));
    a.set(m, l, ...held);
  };
  for (let i = q + 1; i < a.rows; i++) swap(i, p, i, q);
  for (let i = p + 1; i < q; i++) {
    const held = reflect(a.at(i, p));
    a.set(i, p, ...reflect(a.at(q, i)));
    a.set(q, i, ...held);
  }
  a.set(q, p, ...reflect(a.at(q, p)));
  swap(p, p, q, q);
  if (p > k) swap(p, k, q, k);
}

/** Takes column(s) `k` out of what is left and puts L's there. */
function* eliminate(a: Matrix, k: number, step: number, hermitian: boolean): Pieces {
  const n = a.rows;
  const block = blockAt(a, k, step, hermitian);
  yield* repeat(n - k - step, ELEMENT_COST * n, (at) => {
    const j = k + step + at;
    const old = Array.from({ length: step }, (_, s) => a.at(j, k + s));
    // (L row)·D = old row, so Dᵀ is solved with.
    const factors = solveBlock(transposed(block), old);
    for (let i = j; i < n; i++) {
      let value = a.at(i, j);
      factors.forEach(([re, im], s) => {
        value = minus(value, times(a.at(i, k + s), [re, hermitian ? -im : im]));
      });
      a.set(i, j, value[0], hermitian && i === j ? 0 : value[1]);
    }
    factors.forEach((factor, s) => a.set(j, k + s, ...factor));
  });
}

type Block = readonly (readonly Parts[])[];

function blockAt(a: Matrix, k: number, step: number, hermitian: boolean): Block {
  const diagonal = (i: number): Parts => (hermitian ? [a.at(i, i)[0], 0] : a.at(i, i));
  if (step === 1) return [[diagonal(k)]];
  const [re, im] = a.at(k + 1, k);
  return [
    [diagonal(k), [re, hermitian ? -im : im]],
    [[re, im], diagonal(k + 1)],
  ];
}

const transposed = (block: Block): Block => block.map((_, i) => block.map((row) => row[i]));

function solveBlock(block: Block, b: readonly Parts[]): Parts[] {
  if (block.length === 1) return [quotient(...b[0], ...block[0][0])];
  const [[p, q], [r, s]] = block;
  const determinant = minus(times(p, s), times(q, r));
  return [
    quotient(...minus(times(s, b[0]), times(q, b[1])), ...determinant),
    quotient(...minus(times(p, b[1]), times(r, b[0])), ...determinant),
  ];
}

/** Solves A·X = B from A's factors. */
export function* ldlSolve(ld: Matrix, pivots: ArrayLike<number>, b: Matrix, hermitian: boolean): Pieces<Matrix> {
  const x = b.clone();
  const n = ld.rows;
  for (let k = 0; k < n;) {
    const step = pivots[k] > 0 ? 1 : 2;
    x.swapRows(k + step - 1, Math.abs(pivots[k]) - 1);
    const block = blockAt(ld, k, step, hermitian);
    yield* repeat(x.columns, ELEMENT_COST * step * (n - k), (j) => {
      for (let i = k + step; i < n; i++) {
        for (let s = 0; s < step; s++) x.set(i, j, ...minus(x.at(i, j), times(ld.at(i, k + s), x.at(k + s, j))));
      }
      const right = Array.from({ length: step }, (_, s) => x.at(k + s, j));
      solveBlock(block, right).forEach((value, s) => x.set(k + s, j, ...value));
    });
    k += step;
    yield;
  }
  for (let end = n - 1; end >= 0;) {
    const step = pivots[end] > 0 ? 1 : 2;
    const k = end - step + 1;
    yield* repeat(x.columns, ELEMENT_COST * step * (n - k), (j) => {
      for (let s = 0; s < step; s++) {
        for (let i = end + 1; i < n; i++) {
          const [re, im] = ld.at(i, k + s);
          x.set(k + s, j, ...minus(x.at(k + s, j), times([re, hermitian ? -im : im], x.at(i, j))));
        }
      }
    });
    x.swapRows(end, Math.abs(pivots[end]) - 1);
    end -= step;
    yield;
  }
  return x;
}
