import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import type { Matrix } from './matrix.ts';

/**
 * L with A = L·Lᴴ from the lower triangle of a Hermitian positive-definite A. `info` is 0, or the order of the first leading
 * minor that is not positive-definite; the factor is then as far as it came.
 */
export function* cholesky(matrix: Matrix): Pieces<{ l: Matrix; info: number }> {
  const l = matrix.triangle(false);
  const n = matrix.rows;
  let info = 0;
  yield* repeat(n, n * n, (j) => {
    if (choleskyColumn(l, j)) return true;
    info = j + 1;
    return false;
  });
  return { l, info };
}

/** False where the minor that ends with this column is not positive-definite. */
function choleskyColumn(l: Matrix, j: number): boolean {
  const n = l.rows;
  let diagonal = l.re[j * n + j];
  for (let k = 0; k < j; k++) diagonal -= l.re[j * n + k] ** 2 + l.im[j * n + k] ** 2;
  if (!(diagonal > 0)) return false;
  const root = Math.sqrt(diagonal);
  l.set(j, j, root, 0);
  for (let i = j + 1; i < n; i++) {
    let [re, im] = l.at(i, j);
    for (let k = 0; k < j; k++) {
      const [are, aim] = l.at(i, k);
      const [bre, bim] = l.at(j, k);
      re -= are * bre + aim * bim;
      im -= aim * bre - are * bim;
    }
    l.set(i, j, re / root, im / root);
  }
  return true;
}
