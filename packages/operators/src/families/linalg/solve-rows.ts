import { mapped } from '../../kernels/loops/mapped.ts';
import { type Pieces } from '../../kernels/loops/pieces.ts';
import { symSame, isComplex, isIntegral, realType, type Tensor } from '@cresset/tensor';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { kernel } from '../../table/builders.ts';
import { sizesText, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { readNumbers } from '../../kernels/numbers/numbers.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { refuseBool } from '../products/matrix-product.ts';
import { checkFloating, checkInfos, checkMatrix, checkSameType, checkSquare } from './checks.ts';
import { ldlSolve } from './ldl.ts';
import { determinant, luFactor, luSolve, signAndLogDeterminant, solveTriangular } from './lu.ts';
import { batchOf, Matrix, readMatrices, writeMatrices, writeVectors } from './matrix.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { tensorSystemRows } from './tensor-system-rows.ts';
import { matrixExponential, matrixPower } from './matrix-exponential.ts';

/** Systems of linear equations, inverses and determinants (ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp). */

/** Both with their batch dimensions broadcast. */
function broadcastBatches(a: Tensor, b: Tensor): [Tensor, Tensor] {
  const batch = broadcastSizes(batchOf(a), batchOf(b));
  return [expand(a, [...batch, ...a.sizes.slice(-2)]), expand(b, [...batch, ...b.sizes.slice(-2)])];
}

const unsqueezed = (b: Tensor): Tensor => b.asStrided([...b.sizes, 1], [...b.strides, 1]);

/** X with X·op(A) = B from a solver of op(A)ᴴ·Y = Bᴴ. */
function* fromRight(b: Matrix, solve: (b: Matrix) => Pieces<Matrix>): Pieces<Matrix> {
  return (yield* solve(b.adjoint())).adjoint();
}

interface SolveArgs {
  readonly A: Tensor;
  readonly B: Tensor;
  readonly left: boolean;
  readonly check_errors?: boolean;
}

/** Whether B holds vectors rather than matrices. */
function isVectorCase(a: Tensor, b: Tensor): boolean {
  const expected = a.sizes.slice(0, -1);
  return b.dim === 1 || (b.dim === expected.length && b.sizes.every((size, dim) => size === expected[dim]));
}

function checkSystem(a: Tensor, b: Tensor, left: boolean, api: string): void {
  checkMatrix(b, api, 'B');
  const fits = left ? a.sizes.at(-2) === b.sizes.at(-2) : a.sizes.at(-1) === b.sizes.at(-1);
  check(
    fits,
    `${api}: Incompatible shapes of A and B for the equation ${left ? 'AX = B' : 'XA = B'} (${a.sizes.at(-2)}x${a.sizes.at(-1)} and ${b.sizes.at(-2)}x${b.sizes.at(-1)})`,
  );
}

function solveRow(
  schema: string,
  out: string | true,
  results: readonly ('X' | 'LU' | 'pivots' | 'info')[],
  api: string,
  always: boolean,
): OperatorRow {
  const prepare = ({ A, B, left }: SolveArgs) => {
    checkFloating(A, 'linalg.solve', true);
    checkSquare(A, 'linalg.solve');
    checkSameType(A, B, 'linalg.solve');
    const vector = isVectorCase(A, B);
    const matrix = vector ? unsqueezed(B) : B;
    check(
      left || !vector,
      'linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)',
    );
    checkSystem(A, matrix, left, 'linalg.solve');
    return { vector, pair: broadcastBatches(A, matrix) };
  };
  return kernel<SolveArgs>(schema, {
    out,
    shape(args) {
      const { vector, pair } = prepare(args);
      const { A } = args;
      const metas: Record<string, TensorMeta> = {
        X: { sizes: vector ? pair[1].sizes.slice(0, -1) : pair[1].sizes, dtype: A.dtype },
        LU: { sizes: A.sizes, dtype: A.dtype },
        pivots: { sizes: A.sizes.slice(0, -1), dtype: 'int32' },
        info: { sizes: batchOf(A), dtype: 'int32' },
      };
      return results.map((name) => metas[name]);
    },
    *host(args, outputs) {
      const { pair } = prepare(args);
      const { A, left } = args;
      const factors = yield* mapped(yield* readMatrices(A), (matrix) => luFactor(matrix));
      const infos = factors.map(({ info }) => info);
      if (always || args.check_errors) checkInfos(infos, api, A.dim === 2);
      const right = yield* readMatrices(pair[1]);
      const solutions = yield* mapped(yield* readMatrices(pair[0]), function* (matrix, i) {
        const { lu, pivots } = yield* luFactor(matrix);
        if (left) return yield* luSolve(lu, pivots, right[i]);
        return yield* fromRight(right[i], (b) => luSolve(lu, pivots, b, true));
      });
      for (const [at, name] of results.entries()) {
        if (name === 'X') yield* writeMatrices(outputs[at], solutions);
        else if (name === 'LU')
          yield* writeMatrices(
            outputs[at],
            factors.map(({ lu }) => lu),
          );
        else if (name === 'pivots')
          writeVectors(
            outputs[at],
            factors.map(({ pivots }) => pivots),
          );
        else writeVectors(outputs[at], infos);
      }
    },
  });
}

interface TriangularArgs {
  readonly self: Tensor;
  readonly B: Tensor;
  readonly upper: boolean;
  readonly left: boolean;
  readonly unitriangular: boolean;
}

const solveTriangularRow = kernel<TriangularArgs>(
  'aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor',
  {
    out: true,
    shape({ self, B, left }) {
      checkSquare(self, 'linalg.solve_triangular');
      checkSystem(self, B, left, 'linalg.solve_triangular');
      return { sizes: broadcastBatches(self, B)[1].sizes, dtype: B.dtype };
    },
    *host({ self, B, upper, left, unitriangular: unit }, [out]) {
      const [triangles, sides] = broadcastBatches(self, B);
      const a = yield* readMatrices(triangles);
      yield;
      const b = yield* readMatrices(sides);
      yield;
      const solutions = yield* mapped(a, (each, i) =>
        left
          ? solveTriangular(each, b[i], upper, unit)
          : fromRight(b[i], (right) => solveTriangular(each.adjoint(), right, !upper, unit)),
      );
      yield;
      yield* writeMatrices(out, solutions);
    },
  },
);

interface OldTriangularArgs {
  readonly self: Tensor;
  readonly A: Tensor;
  readonly upper: boolean;
  readonly transpose: boolean;
  readonly unitriangular: boolean;
}

function checkOldSystem(b: Tensor, a: Tensor, name: string): void {
  check(
    b.dim >= 2,
    `${name === 'triangular_solve' ? 'torch.triangular_solve: Expected b to have at least 2 dimensions, but it has' : 'b should have at least 2 dimensions, but has'} ${b.dim} dimensions instead`,
  );
  check(
    a.dim >= 2,
    `${name === 'triangular_solve' ? 'torch.triangular_solve: Expected A to have at least 2 dimensions, but it has' : 'u should have at least 2 dimensions, but has'} ${a.dim} dimensions instead`,
  );
  check(
    a.dtype === b.dtype,
    () =>
      `Expected b and A to have the same dtype, but found b of type ${dtypeName(b.dtype)} and A of type ${dtypeName(a.dtype)} instead.`,
  );
  const [rows, columns] = a.sizes.slice(-2);
  check(rows === columns, `${name}: A must be batches of square matrices, but they are ${rows} by ${columns} matrices`);
  check(
    rows === b.sizes.at(-2),
    `Incompatible matrix sizes for ${name}: each A matrix is ${rows} by ${rows} but each b matrix is ${b.sizes.at(-2)} by ${b.sizes.at(-1)}`,
  );
}

const triangularSolve = kernel<OldTriangularArgs>(
  'aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)',
  {
    out: 'X(X, M)',
    shape({ self, A }) {
      checkOldSystem(self, A, 'triangular_solve');
      return broadcastBatches(self, A).map(({ sizes, dtype }) => ({ sizes, dtype }));
    },
    *host({ self, A, upper, transpose, unitriangular: unit }, [x, copy]) {
      const [sides, triangles] = broadcastBatches(self, A);
      const b = yield* readMatrices(sides);
      const a = yield* readMatrices(triangles);
      yield* writeMatrices(copy, a);
      yield* writeMatrices(
        x,
        yield* mapped(a, (each, i) =>
          solveTriangular(transpose ? each.transpose() : each, b[i], upper !== transpose, unit),
        ),
      );
    },
  },
);

interface CholeskySolveArgs {
  readonly self: Tensor;
  readonly input2: Tensor;
  readonly upper: boolean;
}

/** (L·Lᴴ)⁻¹·B, or with `upper` (Uᴴ·U)⁻¹·B. */
function* choleskySolve(factor: Matrix, b: Matrix, upper: boolean): Pieces<Matrix> {
  const l = upper ? factor.adjoint() : factor;
  yield;
  const first = yield* solveTriangular(l, b, false);
  const adjoint = l.adjoint();
  yield;
  return yield* solveTriangular(adjoint, first, true);
}

const choleskySolveRow = kernel<CholeskySolveArgs>(
  'aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor',
  {
    out: true,
    shape({ self, input2 }) {
      checkOldSystem(self, input2, 'cholesky_solve');
      return { sizes: broadcastBatches(self, input2)[0].sizes, dtype: self.dtype };
    },
    *host({ self, input2, upper }, [out]) {
      const [sides, triangles] = broadcastBatches(self, input2);
      const b = yield* readMatrices(sides);
      yield;
      const factors = yield* readMatrices(triangles);
      yield;
      yield* writeMatrices(out, yield* mapped(b, (each, i) => choleskySolve(factors[i], each, upper)));
    },
  },
);

const choleskyInverse = kernel<{ self: Tensor; upper: boolean }>(
  'aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor',
  {
    out: true,
    shape({ self }) {
      checkSquare(self, 'cholesky_inverse');
      return { sizes: self.sizes, dtype: self.dtype };
    },
    *host({ self, upper }, [out]) {
      yield* writeMatrices(
        out,
        yield* mapped(yield* readMatrices(self), (factor) =>
          choleskySolve(factor, Matrix.identity(factor.rows), upper),
        ),
      );
    },
  },
);

function inverseRow(
  schema: string,
  argument: 'A' | 'self',
  out: string | true,
  api: string,
  always: boolean,
): OperatorRow {
  type Args = Record<'A' | 'self', Tensor> & { check_errors?: boolean };
  return kernel<Args>(schema, {
    out,
    shape(args) {
      const a = args[argument];
      checkSquare(a, 'linalg.inv');
      checkFloating(a, 'linalg.inv');
      const inverse: TensorMeta = { sizes: a.sizes, dtype: a.dtype };
      return out === true ? inverse : [inverse, { sizes: batchOf(a), dtype: 'int32' }];
    },
    *host(args, [inverse, info]) {
      const a = args[argument];
      const factors = yield* mapped(yield* readMatrices(a), (matrix) => luFactor(matrix));
      const infos = factors.map((each) => each.info);
      if (always || args.check_errors) checkInfos(infos, api, a.dim === 2);
      yield* writeMatrices(
        inverse,
        yield* mapped(factors, ({ lu, pivots }) => luSolve(lu, pivots, Matrix.identity(lu.rows))),
      );
      if (info) writeVectors(info, infos);
    },
  });
}

/** A function of each square matrix that gives a square matrix. */
function squareRow<Args extends { self: Tensor }>(
  schema: string,
  api: string,
  out: boolean,
  apply: (matrix: Matrix, args: Args) => Pieces<Matrix>,
  checkDtype: (args: Args) => void = ({ self }) => checkFloating(self, api, true),
): OperatorRow {
  return kernel<Args>(schema, {
    out,
    shape(args) {
      const { self } = args;
      checkSquare(self, api);
      checkDtype(args);
      return { sizes: self.sizes, dtype: self.dtype };
    },
    *host(args, [result]) {
      yield* writeMatrices(result, yield* mapped(yield* readMatrices(args.self), (matrix) => apply(matrix, args)));
    },
  });
}

interface PowerArgs {
  readonly self: Tensor;
  readonly n: number;
}

/** Products take any numbers, inverses floating-point ones. */
function checkPower({ self, n }: PowerArgs): void {
  if (n < 0) checkFloating(self, 'linalg.inv');
  if (n > 1 && self.numel > 0) refuseBool(self.dim === 2 ? 'addmm_impl_cpu_' : 'bmm', self, self);
}

function* power(matrix: Matrix, { self, n }: PowerArgs): Pieces<Matrix> {
  if (n >= 0) return yield* matrixPower(matrix, n);
  const { lu, pivots, info } = yield* luFactor(matrix);
  checkInfos([info], 'linalg.inv', self.dim === 2);
  return yield* matrixPower(yield* luSolve(lu, pivots, Matrix.identity(lu.rows)), -n);
}

type DeterminantResult = 'det' | 'sign' | 'log' | 'logdet' | 'LU' | 'pivots';

function determinantRow(
  schema: string,
  argument: 'A' | 'self',
  out: string | boolean,
  api: string,
  results: readonly DeterminantResult[],
): OperatorRow {
  return kernel<Record<string, Tensor>>(schema, {
    out,
    shape(args) {
      const a = args[argument];
      checkSquare(a, api);
      checkFloating(a, api, api === 'linalg.det');
      const metas = results.map((name): TensorMeta => {
        if (name === 'LU') return { sizes: a.sizes, dtype: a.dtype };
        if (name === 'pivots') return { sizes: a.sizes.slice(0, -1), dtype: 'int32' };
        return { sizes: batchOf(a), dtype: name === 'log' ? realType(a.dtype) : a.dtype };
      });
      return metas.length === 1 ? metas[0] : metas;
    },
    *host(args, outputs) {
      const a = args[argument];
      const factors = yield* mapped(yield* readMatrices(a), (matrix) => luFactor(matrix));
      const number = (re: number, im: number): Matrix => Matrix.build(1, 1, () => [re, im]);
      const parts = factors.map(signAndLogDeterminant);
      for (const [at, name] of results.entries()) {
        const target = outputs[at];
        if (name === 'LU')
          yield* writeMatrices(
            target,
            factors.map(({ lu }) => lu),
          );
        else if (name === 'pivots')
          writeVectors(
            target,
            factors.map(({ pivots }) => pivots),
          );
        else if (name === 'det')
          yield* writeMatrices(
            target,
            factors.map((each) => number(...determinant(each))),
          );
        else if (name === 'sign')
          yield* writeMatrices(
            target,
            parts.map(({ sign }) => number(...sign)),
          );
        else if (name === 'log')
          writeVectors(
            target,
            parts.map(({ log }) => log),
          );
        else
          yield* writeMatrices(
            target,
            parts.map(({ sign, log }) => number(...logDeterminant(sign, log, isComplex(a.dtype)))),
          );
      }
    },
  });
}

/** The logarithm of a determinant: NaN where a real one is negative. */
function logDeterminant([re, im]: readonly [number, number], log: number, complex: boolean): [number, number] {
  if (complex) return [log, Math.atan2(im, re)];
  return [re < 0 ? NaN : log, 0];
}

interface LuSolveArgs {
  readonly LU: Tensor;
  readonly pivots: Tensor;
  readonly B: Tensor;
  readonly left: boolean;
  readonly adjoint: boolean;
}

function* solveFromLu({ LU, pivots, B, left, adjoint }: LuSolveArgs, out: Tensor): Pieces {
  const [lu, b] = broadcastBatches(LU, B);
  const numbers = readNumbers(expand(pivots, lu.sizes.slice(0, -1)));
  const right = yield* readMatrices(b);
  const n = lu.sizes.at(-1)!;
  yield* writeMatrices(
    out,
    yield* mapped(yield* readMatrices(lu), (each, i) => {
      const own = numbers.subarray(i * n, (i + 1) * n);
      if (left) return luSolve(each, own, right[i], adjoint);
      return fromRight(right[i], (y) => luSolve(each, own, y, !adjoint));
    }),
  );
}

function shapeFromLu({ LU, pivots, B, left }: LuSolveArgs): TensorMeta {
  checkFloating(LU, 'torch.linalg.lu_solve', true);
  checkSameType(LU, B, 'linalg.lu_solve', ['LU', 'B']);
  check(pivots.dtype === 'int32', 'linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32');
  checkSquare(LU, 'torch.linalg.lu_solve');
  checkSystem(LU, B, left, 'linalg.lu_solve');
  check(
    LU.sizes.at(-1) === pivots.sizes.at(-1),
    'linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix',
  );
  return { sizes: broadcastBatches(LU, B)[1].sizes, dtype: B.dtype };
}

const luSolveRow = kernel<LuSolveArgs>(
  'aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor',
  { out: true, shape: shapeFromLu, host: (args, [result]) => solveFromLu(args, result) },
);

interface OldLuSolveArgs {
  readonly self: Tensor;
  readonly LU_data: Tensor;
  readonly LU_pivots: Tensor;
}

const renamed = ({ self, LU_data, LU_pivots }: OldLuSolveArgs): LuSolveArgs => ({
  LU: LU_data,
  pivots: LU_pivots,
  B: self,
  left: true,
  adjoint: false,
});

const oldLuSolve = kernel<OldLuSolveArgs>('aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor', {
  out: true,
  shape: (args) => shapeFromLu(renamed(args)),
  host: (args, [result]) => solveFromLu(renamed(args), result),
});

interface LdlSolveArgs {
  readonly LD: Tensor;
  readonly pivots: Tensor;
  readonly B: Tensor;
  readonly hermitian: boolean;
}

const ldlSolveRow = kernel<LdlSolveArgs>(
  'aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor',
  {
    out: true,
    shape({ LD, pivots, B }) {
      const api = 'torch.linalg.ldl_solve';
      checkSquare(LD, api);
      checkFloating(LD, api, true);
      const [rows, own] = [LD.sizes.at(-1)!, B.sizes[wrapDimOfRanked(-2, B.dim)]];
      check(
        LD.dtype === B.dtype,
        () =>
          `Expected b and A to have the same dtype, but found b of type ${dtypeName(B.dtype)} and A of type ${dtypeName(LD.dtype)} instead.`,
      );
      check(
        rows === own,
        () =>
          `Incompatible matrix sizes for ${api}: each A matrix is ${rows} by ${rows} but each b matrix is ${own} by ${B.sizes.at(-1)}`,
      );
      check(
        symSame(LD.sizes.slice(0, -1), pivots.sizes),
        () =>
          `${api}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ${sizesText(pivots.sizes)} instead`,
      );
      check(
        isIntegral(pivots.dtype, false),
        () => `${api}: Expected pivots to be integers. Got ${dtypeName(pivots.dtype)}`,
      );
      return { sizes: broadcastBatches(LD, B)[1].sizes, dtype: B.dtype };
    },
    *host({ LD, pivots, B, hermitian }, [out]) {
      const [ld, b] = broadcastBatches(LD, B);
      const numbers = readNumbers(expand(pivots, ld.sizes.slice(0, -1)));
      const n = ld.sizes.at(-1)!;
      const right = yield* readMatrices(b);
      yield* writeMatrices(
        out,
        yield* mapped(yield* readMatrices(ld), (each, i) =>
          ldlSolve(each, numbers.subarray(i * n, (i + 1) * n), right[i], hermitian && isComplex(LD.dtype)),
        ),
      );
    },
  },
);

export const solveRows: readonly OperatorRow[] = [
  solveRow(
    'aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor',
    true,
    ['X'],
    'torch.linalg.solve',
    true,
  ),
  solveRow(
    'aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)',
    'out(result, info)',
    ['X', 'info'],
    'torch.linalg.solve_ex',
    false,
  ),
  solveRow(
    'aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)',
    'result(result, LU, pivots, info)',
    ['X', 'LU', 'pivots', 'info'],
    'torch.linalg.solve_ex',
    false,
  ),
  solveTriangularRow,
  triangularSolve,
  choleskySolveRow,
  choleskyInverse,
  inverseRow('aten::linalg_inv(Tensor A) -> Tensor', 'A', true, 'linalg.inv', true),
  inverseRow('aten::inverse(Tensor self) -> Tensor', 'self', true, 'linalg.inv', true),
  inverseRow(
    'aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)',
    'A',
    'inverse(inverse, info)',
    'linalg.inv_ex',
    false,
  ),
  // Of half precision PyTorch 2.13 gives NaN or numbers that are thousands of times too large; here it is the exponential.
  squareRow('aten::linalg_matrix_exp(Tensor self) -> Tensor', 'linalg.matrix_exp', true, matrixExponential),
  squareRow('aten::matrix_exp(Tensor self) -> Tensor', 'linalg.matrix_exp', false, matrixExponential),
  squareRow('aten::linalg_matrix_power(Tensor self, int n) -> Tensor', 'linalg.matrix_power', true, power, checkPower),
  squareRow('aten::matrix_power(Tensor self, int n) -> Tensor', 'linalg.matrix_power', true, power, checkPower),
  determinantRow('aten::linalg_det(Tensor A) -> Tensor', 'A', true, 'linalg.det', ['det']),
  determinantRow('aten::det(Tensor self) -> Tensor', 'self', false, 'linalg.det', ['det']),
  determinantRow(
    'aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)',
    'A',
    'result(result, LU, pivots)',
    'linalg.det',
    ['det', 'LU', 'pivots'],
  ),
  determinantRow('aten::logdet(Tensor self) -> Tensor', 'self', false, 'logdet', ['logdet']),
  determinantRow(
    'aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)',
    'A',
    'out(sign, logabsdet)',
    'linalg.slogdet',
    ['sign', 'log'],
  ),
  determinantRow(
    'aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)',
    'self',
    'out(sign, logabsdet)',
    'linalg.slogdet',
    ['sign', 'log'],
  ),
  determinantRow(
    'aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)',
    'A',
    'sign(sign, logabsdet, LU, pivots)',
    'linalg.slogdet',
    ['sign', 'log', 'LU', 'pivots'],
  ),
  luSolveRow,
  oldLuSolve,
  ldlSolveRow,
  ...tensorSystemRows,
];
