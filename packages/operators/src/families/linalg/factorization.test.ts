import { describe, expect, it } from 'vitest';
import { finish } from '../../kernels/loops/pieces.ts';
import { cholesky } from './cholesky.ts';
import { eigen } from './eigen.ts';
import { qr } from './householder.ts';
import { hermitianEigen, singularValues } from './jacobi.ts';
import { ldlFactor, ldlSolve } from './ldl.ts';
import { luFactor, luSolve, permutationMatrix } from './lu.ts';
import { Matrix } from './matrix.ts';
import { matrixExponential } from './matrix-exponential.ts';

function sample(rows: number, columns: number, complex: boolean, seed = 1): Matrix {
  let state = seed;
  const next = (): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 1073741824 - 1;
  };
  return Matrix.build(rows, columns, () => [next(), complex ? next() : 0]);
}

const times = (a: Matrix, b: Matrix): Matrix => finish(a.multiply(b));

const diagonal = (values: ArrayLike<number>): Matrix =>
  Matrix.build(values.length, values.length, (i, j) => [i === j ? values[i] : 0, 0]);

function expectNear(got: Matrix, want: Matrix): void {
  expect([got.rows, got.columns]).toEqual([want.rows, want.columns]);
  const difference = got.add(want, -1);
  expect(Math.max(0, ...difference.re.map(Math.abs), ...difference.im.map(Math.abs))).toBeLessThan(1e-9);
}

describe.each([false, true])('factorisations give the matrix back (complex: %s)', (complex) => {
  const shapes = [
    [5, 5],
    [7, 4],
    [4, 7],
    [1, 1],
  ];

  it.each(shapes)('QR of %i × %i', (rows, columns) => {
    const a = sample(rows, columns, complex);
    for (const complete of [false, true]) {
      const { q, r } = finish(qr(a, complete));
      expectNear(times(q, r), a);
      expectNear(times(q.adjoint(), q), Matrix.identity(q.columns));
    }
  });

  it.each(shapes)('LU of %i × %i', (rows, columns) => {
    const a = sample(rows, columns, complex);
    const { lu, pivots } = finish(luFactor(a));
    const inner = Math.min(rows, columns);
    const l = lu.triangle(false, true).leading(rows, inner);
    expectNear(times(times(permutationMatrix(pivots, rows), l), lu.triangle(true).leading(inner, columns)), a);
  });

  it.each(shapes)('singular values of %i × %i', (rows, columns) => {
    const a = sample(rows, columns, complex);
    const { u, s, v } = finish(singularValues(a));
    expectNear(times(times(u, diagonal(s)), v.adjoint()), a);
    expect([...s]).toEqual([...s].sort((x, y) => y - x));
  });

  it('eigenvalues and eigenvectors', () => {
    const a = sample(8, 8, complex);
    const { values, vectors } = finish(eigen(a, !complex));
    const scaled = Matrix.build(8, 8, (i, j) => (i === j ? values.at(0, i) : [0, 0]));
    expectNear(times(a, vectors), times(vectors, scaled));
  });

  it('a Hermitian matrix: eigenvalues, Cholesky, LDL', () => {
    const a = sample(6, 6, complex);
    const hermitian = a.add(a.adjoint());
    const { values, vectors } = finish(hermitianEigen(hermitian));
    expectNear(times(times(vectors, diagonal(values)), vectors.adjoint()), hermitian);
    const positive = times(a, a.adjoint());
    const { l, info } = finish(cholesky(positive));
    expect(info).toBe(0);
    expectNear(times(l, l.adjoint()), positive);
    const b = sample(6, 2, complex, 7);
    const { ld, pivots } = finish(ldlFactor(hermitian, true));
    expectNear(times(hermitian, finish(ldlSolve(ld, pivots, b, true))), b);
  });

  it('solves with a matrix and with its adjoint', () => {
    const a = sample(6, 6, complex);
    const b = sample(6, 3, complex, 5);
    const { lu, pivots } = finish(luFactor(a));
    expectNear(times(a, finish(luSolve(lu, pivots, b))), b);
    expectNear(times(a.adjoint(), finish(luSolve(lu, pivots, b, true))), b);
  });

  it('the exponential of −A inverts that of A', () => {
    const a = sample(5, 5, complex).scale(4);
    expectNear(times(finish(matrixExponential(a)), finish(matrixExponential(a.scale(-1)))), Matrix.identity(5));
  });
});

describe('failures', () => {
  it('reports the first pivot of zero and the first minor that is not positive', () => {
    expect(finish(luFactor(new Matrix(3, 3))).info).toBe(1);
    expect(finish(cholesky(Matrix.identity(2).scale(-1))).info).toBe(1);
  });

  it('completes the vectors of a matrix of zeros to a basis', () => {
    const { u } = finish(singularValues(new Matrix(4, 3)));
    expectNear(times(u.adjoint(), u), Matrix.identity(3));
  });
});
