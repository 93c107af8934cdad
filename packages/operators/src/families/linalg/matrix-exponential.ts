import type { Pieces } from '../../kernels/loops/pieces.ts';
import { luFactor, luSolve } from './lu.ts';
import { Matrix } from './matrix.ts';

/** Coefficients of the [13/13] Padé approximant of eˣ: 13!·(26−k)! / (26!·k!·(13−k)!), each from the one before. */
const coefficients = ((): number[] => {
  const result = [1];
  for (let k = 1; k <= 13; k++) result.push((result[k - 1] * (14 - k)) / (k * (27 - k)));
  return result;
})();

/** The norm up to which that approximant is exact to double precision (Higham 2005). */
const largestNorm = 5.37;

/** eᴬ by scaling and squaring. */
export function* matrixExponential(matrix: Matrix): Pieces<Matrix> {
  let norm = 0;
  for (let j = 0; j < matrix.columns; j++) {
    let sum = 0;
    for (let i = 0; i < matrix.rows; i++) sum += Math.hypot(...matrix.at(i, j));
    norm = Math.max(norm, sum);
  }
  const squarings = norm > largestNorm && norm < Infinity ? Math.ceil(Math.log2(norm / largestNorm)) : 0;
  const a = matrix.scale(2 ** -squarings);
  let power = Matrix.identity(a.rows);
  let even = power;
  let odd = new Matrix(a.rows, a.rows);
  for (let k = 1; k <= 13; k++) {
    power = yield* power.multiply(a);
    if (k % 2 === 0) even = even.add(power, coefficients[k]);
    else odd = odd.add(power, coefficients[k]);
  }
  const { lu, pivots } = yield* luFactor(even.add(odd, -1));
  let result = yield* luSolve(lu, pivots, even.add(odd));
  for (let i = 0; i < squarings; i++) result = yield* result.multiply(result);
  return result;
}

/** Aⁿ for n ≥ 0 by repeated squaring. */
export function* matrixPower(matrix: Matrix, exponent: number): Pieces<Matrix> {
  let result = Matrix.identity(matrix.rows);
  let square = matrix;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = yield* result.multiply(square);
    if (left > 1) square = yield* square.multiply(square);
  }
  return result;
}
