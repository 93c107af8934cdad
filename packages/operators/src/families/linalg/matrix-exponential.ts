import { PIECE_SIZE, type Pieces } from '../../kernels/loops/pieces.ts';
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
  const norm = (yield* matrix.sums(true)).reduce((most, sum) => Math.max(most, sum), 0);
  const squarings = norm > largestNorm && norm < Infinity ? Math.ceil(Math.log2(norm / largestNorm)) : 0;
  const a = matrix.scale(2 ** -squarings);
  yield;
  const even = Matrix.identity(a.rows);
  const odd = new Matrix(a.rows, a.rows);
  let power = a;
  for (let k = 1; k <= 13; k++) {
    if (k > 1) power = yield* replaced(k > 2 ? power : null, power.multiply(a));
    (k % 2 === 0 ? even : odd).accumulate(power, coefficients[k]);
    yield;
  }
  const denominator = even.add(odd, -1);
  yield;
  const { lu, pivots } = yield* luFactor(denominator);
  const numerator = even.add(odd);
  yield;
  let result = yield* luSolve(lu, pivots, numerator);
  for (let i = 0; i < squarings; i++) result = yield* replaced(result, result.multiply(result));
  return result;
}

/** A matrix that is made of another one, which nobody needs then. */
function* replaced(before: Matrix | null, making: Pieces<Matrix>): Pieces<Matrix> {
  const after = yield* making;
  before?.giveUp();
  return after;
}

/** Aⁿ for n ≥ 0 by repeated squaring. */
export function* matrixPower(matrix: Matrix, exponent: number): Pieces<Matrix> {
  let result = Matrix.identity(matrix.rows);
  let square = matrix;
  // A product of small matrices comes to no stop, and powers are several.
  const productsAtOnce = Math.max(1, Math.floor(PIECE_SIZE / (4 * matrix.rows ** 3)));
  let products = 0;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = yield* replaced(result, result.multiply(square));
    if (left > 1) square = yield* replaced(square === matrix ? null : square, square.multiply(square));
    if (++products % productsAtOnce === 0) yield;
  }
  return result;
}
