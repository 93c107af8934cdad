import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { Matrix, quotient } from './matrix.ts';

/** A QR factorisation as LAPACK's geqrf leaves it: R on and above the diagonal, reflectors' vectors below it. */
export interface Reflectors {
  readonly a: Matrix;
  /** One factor a reflector, in a row: H = I − τ·v·vᴴ, v's first element being one. */
  readonly tau: Matrix;
}

/** QR by Householder reflectors, with LAPACK's signs: the diagonal of R is real and opposite in sign to what it replaces. */
export function* geqrf(matrix: Matrix): Pieces<Reflectors> {
  const a = matrix.clone();
  const steps = Math.min(a.rows, a.columns);
  const tau = new Matrix(1, steps);
  const sums = new Matrix(1, a.columns);
  yield* repeat(steps, a.rows * a.columns, (k) => {
    let below = 0;
    for (let i = k + 1; i < a.rows; i++) below = Math.hypot(below, ...a.at(i, k));
    const [re, im] = a.at(k, k);
    if (below === 0 && im === 0) return;
    const size = Math.hypot(re, im, below);
    const beta = re >= 0 && !Object.is(re, -0) ? -size : size;
    tau.set(0, k, (beta - re) / beta, -im / beta);
    for (let i = k + 1; i < a.rows; i++) a.set(i, k, ...quotient(...a.at(i, k), re - beta, im));
    a.set(k, k, beta, 0);
    // geqr2 applies Hᴴ to what is left.
    applyReflector(a, k, tau.re[k], -tau.im[k], a, k + 1, sums);
  });
  return { a, tau };
}

/**
 * target := (I − τ·v·vᴴ)·target for reflector `k` of `vectors`, in columns from `start` on. Rows are gone over as they lie in memory; `sums` has room for one.
 */
function applyReflector(
  vectors: Matrix,
  k: number,
  tauRe: number,
  tauIm: number,
  target: Matrix,
  start: number,
  sums: Matrix,
): void {
  if (tauRe === 0 && tauIm === 0) return;
  const width = target.columns;
  const { re, im } = target;
  const { re: sumRe, im: sumIm } = sums;
  for (let j = start; j < width; j++) {
    sumRe[j] = re[k * width + j];
    sumIm[j] = im[k * width + j];
  }
  for (let i = k + 1; i < vectors.rows; i++) {
    const [vre, vim] = vectors.at(i, k);
    for (let j = start, at = i * width + start; j < width; j++, at++) {
      sumRe[j] += vre * re[at] + vim * im[at];
      sumIm[j] += vre * im[at] - vim * re[at];
    }
  }
  for (let j = start; j < width; j++) {
    const [x, y] = [sumRe[j], sumIm[j]];
    sumRe[j] = tauRe * x - tauIm * y;
    sumIm[j] = tauRe * y + tauIm * x;
    re[k * width + j] -= sumRe[j];
    im[k * width + j] -= sumIm[j];
  }
  for (let i = k + 1; i < vectors.rows; i++) {
    const [vre, vim] = vectors.at(i, k);
    for (let j = start, at = i * width + start; j < width; j++, at++) {
      re[at] -= vre * sumRe[j] - vim * sumIm[j];
      im[at] -= vre * sumIm[j] + vim * sumRe[j];
    }
  }
}

/** Q·B, or Qᴴ·B, where Q is the product of the reflectors in order. */
export function* multiplyByQ({ a, tau }: Reflectors, b: Matrix, adjoint = false): Pieces<Matrix> {
  const result = b.clone();
  const count = tau.columns;
  const sums = new Matrix(1, b.columns);
  yield* repeat(count, b.rows * b.columns, (step) => {
    const k = adjoint ? step : count - 1 - step;
    applyReflector(a, k, tau.re[k], adjoint ? -tau.im[k] : tau.im[k], result, 0, sums);
  });
  return result;
}

/** The first `columns` columns of Q. */
export function formQ(reflectors: Reflectors, columns: number): Pieces<Matrix> {
  const { rows } = reflectors.a;
  const start = new Matrix(rows, columns);
  for (let i = 0; i < Math.min(rows, columns); i++) start.set(i, i, 1, 0);
  return multiplyByQ(reflectors, start);
}

export function* qr(matrix: Matrix, complete: boolean): Pieces<{ q: Matrix; r: Matrix }> {
  const reflectors = yield* geqrf(matrix);
  const inner = complete ? matrix.rows : Math.min(matrix.rows, matrix.columns);
  return { q: yield* formQ(reflectors, inner), r: reflectors.a.triangle(true).leading(inner, matrix.columns) };
}
