import { mapped } from '../../kernels/loops/mapped.ts';
import { filled, type Pieces } from '../../kernels/loops/pieces.ts';
import { isComplex, realType, Tensor, type ScalarType, scratch } from '@cresset/tensor';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { kernel } from '../../table/builders.ts';
import { copyInto } from '../../kernels/copy.ts';
import { reducedSizes, wrapDim, wrapDimOfRanked, wrapDims } from '../../kernels/dimensions.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import { readNumbers } from '../../kernels/numbers/numbers.ts';
import type { OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { checkFloating, checkMatrix, checkNormDtypes, checkSquare, epsilonOf, refuseKernel } from './checks.ts';
import { hermitianEigen, singularValues, type SingularValues } from './jacobi.ts';
import { luFactor, luSolve } from './lu.ts';
import { Matrix, readMatrices, readParts, writeMatrices, writeVectors } from './matrix.ts';

/** Norms, ranks, pseudoinverses and least squares (ATen/native/LinearAlgebra.cpp, BatchLinearAlgebra.cpp). */

type Order = number | 'fro' | 'nuc';

const batchOf = (self: Tensor): readonly number[] => self.sizes.slice(0, -2);

/** `self` with the given dimensions moved to the end, in that order. */
function withLast(self: Tensor, dims: readonly number[]): Tensor {
  const order = [...self.sizes.keys()].filter((dim) => !dims.includes(dim)).concat(dims);
  return self.asStrided(
    order.map((dim) => self.sizes[dim]),
    order.map((dim) => self.strides[dim]),
  );
}

/** Singular values of a matrix; of one that is Hermitian the magnitudes of its eigenvalues. */
function* spectrum(matrix: Matrix, hermitian: boolean): Pieces<Float64Array> {
  return hermitian ? (yield* hermitianEigen(matrix)).values.map(Math.abs) : (yield* singularValues(matrix)).s;
}

function extreme(values: ArrayLike<number>, smallest: boolean): number {
  let result = smallest ? Infinity : 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) return NaN;
    result = smallest ? Math.min(result, values[i]) : Math.max(result, values[i]);
  }
  return result;
}

function* matrixNorm(matrix: Matrix, order: Order): Pieces<number> {
  if (order === 'nuc') return (yield* singularValues(matrix)).s.reduce((sum, value) => sum + value, 0);
  if (order !== 'fro' && Math.abs(order) === 2) return extreme((yield* singularValues(matrix)).s, order < 0);
  if (order === 'fro') return vectorNorm(yield* matrix.magnitudes(), 2);
  return extreme(yield* matrix.sums(Math.abs(order) === 1), order < 0);
}

function vectorNorm(sizes: Float64Array, order: number): number {
  if (Math.abs(order) === Infinity) return extreme(sizes, order < 0);
  if (order === 0) return sizes.filter((size) => size !== 0).length;
  if (order === 2) {
    // The largest is taken out, so that no square is beyond what a number holds.
    const most = extreme(sizes, false);
    if (most === 0 || !(most < Infinity)) return most;
    return most * Math.sqrt(sizes.reduce((sum, size) => sum + (size / most) ** 2, 0));
  }
  return sizes.reduce((sum, size) => sum + size ** order, 0) ** (1 / order);
}

function orderOf(order: Scalar | string, api: string): Order {
  const value = typeof order === 'string' ? order : Number(order);
  const known = typeof value === 'string' ? ['fro', 'nuc'] : [1, -1, 2, -2, Infinity, -Infinity];
  check((known as unknown[]).includes(value), `${api}: Order ${orderText(value)} not supported.`);
  return value as Order;
}

const orderText = (order: string | number): string =>
  order === Infinity ? 'inf' : order === -Infinity ? '-inf' : String(order);

interface NormArgs {
  readonly self: Tensor;
  readonly ord?: Scalar | string | null;
  readonly dim?: readonly number[] | null;
  readonly keepdim?: boolean;
  readonly dtype?: ScalarType | null;
}

interface NormPlan {
  readonly dims: readonly number[];
  /** Null where the norm is of vectors. */
  readonly matrix: Order | null;
  readonly vector: number;
}

function normMeta({ self, keepdim, dtype }: NormArgs, dims: readonly number[]): TensorMeta {
  return { sizes: reducedSizes(self.sizes, dims, keepdim ?? false), dtype: realType(dtype ?? self.dtype) };
}

/** `self` in the dtype that the norm is computed in. */
function converted(self: Tensor, dtype: ScalarType | null | undefined): Tensor {
  if (!dtype || dtype === self.dtype) return self;
  const result = Tensor.empty(self.sizes, dtype);
  copyInto(result, self);
  return result;
}

function* computeNorm(args: NormArgs, { dims, matrix, vector }: NormPlan, out: Tensor): Pieces {
  const self = withLast(converted(args.self, args.dtype), dims);
  if (matrix !== null) {
    writeVectors(out, yield* mapped(yield* readMatrices(self), (each) => matrixNorm(each, matrix)));
    return;
  }
  const { re, im } = yield* readParts(self);
  const group = dims.reduce((product, dim) => product * args.self.sizes[dim], 1);
  const sizes = yield* filled(re, 8, (i) => Math.hypot(re[i], im[i]));
  const norms = scratch(Float64Array, out.numel);
  yield* filled(norms, group, (i) => vectorNorm(sizes.subarray(i * group, (i + 1) * group), vector));
  writeVectors(out, [norms]);
}

function normRow(schema: string, plan: (args: NormArgs) => NormPlan): OperatorRow {
  const names: Record<string, string> = { ord_str: 'ord_str_out', str_ord: 'str_ord_out', dim: 'dim_out' };
  const overload = /\.(\w+)\(/.exec(schema)?.[1] ?? '';
  return kernel<NormArgs>(schema, {
    out: names[overload] ?? 'out',
    shape: (args) => normMeta(args, plan(args).dims),
    host: (args, [out]) => computeNorm(args, plan(args), out),
  });
}

function planMatrixNorm({ self, ord, dim, dtype }: NormArgs, api = 'linalg.matrix_norm'): NormPlan {
  checkMatrix(self, api);
  checkNormDtypes(api, self.dtype, dtype);
  const order = orderOf(ord ?? 'fro', api);
  // Those that come of singular values.
  if (order === 2 || order === -2 || order === 'nuc') checkFloating(converted(self.asStrided([0], [1]), dtype), api);
  const dims = dim ?? [-2, -1];
  check(dims.length === 2, `${api}: dim must be a 2-tuple. Got ${dims.join(' ')}`);
  const wrapped = dims.map((each) => wrapDim(each, self.dim));
  check(wrapped[0] !== wrapped[1], `${api}: dims must be different. Got (${dims.join(', ')})`);
  return { dims: wrapped, matrix: order, vector: 2 };
}

/** linalg.norm: of vectors where one dimension is given or no order is, of matrices otherwise. */
function planNorm(args: NormArgs): NormPlan {
  const { self, ord, dim } = args;
  if (dim) {
    check(
      dim.length === 1 || dim.length === 2,
      `linalg.norm: If dim is specified, it must be of length 1 or 2. Got [${dim.join(', ')}]`,
    );
  } else if (ord !== null && ord !== undefined) {
    check(
      self.dim === 1 || self.dim === 2,
      `linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ${self.dim}D.`,
    );
  }
  const isMatrix = ord !== null && ord !== undefined && (dim ? dim.length === 2 : self.dim === 2);
  if (isMatrix || typeof ord === 'string') return planMatrixNorm({ ...args, dim: dim ?? [-2, -1] });
  checkNormDtypes('linalg.vector_norm', self.dtype, args.dtype);
  const dims = dim ? wrapDims(dim, self.dim).filter((each) => each < self.dim) : [...self.sizes.keys()];
  return { dims, matrix: null, vector: ord === null || ord === undefined ? 2 : Number(ord) };
}

function nuclear(args: NormArgs): NormPlan {
  check(
    args.dim !== undefined || args.self.dim === 2,
    `Expected a tensor with 2 dimensions, but got a tensor with ${args.self.dim} dimensions instead.`,
  );
  return planMatrixNorm({ ...args, ord: 'nuc' });
}

interface CondArgs {
  readonly self: Tensor;
  readonly p: Scalar | string | null;
}

function* condition(matrix: Matrix, order: Order): Pieces<number> {
  if (order === 2 || order === -2) {
    const { s } = yield* singularValues(matrix);
    const [largest, smallest] = [s[0], s[s.length - 1]];
    return order === 2 ? largest / smallest : smallest / largest;
  }
  const { lu, pivots, info } = yield* luFactor(matrix);
  if (info !== 0) return Infinity;
  const inverse = yield* luSolve(lu, pivots, Matrix.identity(lu.rows));
  return (yield* matrixNorm(matrix, order)) * (yield* matrixNorm(inverse, order));
}

function condRow(schema: string, out: string): OperatorRow {
  const orderIn = ({ p }: CondArgs): Order => (p === null ? 2 : orderOf(p, 'linalg.cond'));
  return kernel<CondArgs>(schema, {
    out,
    shape(args) {
      const { self, p } = args;
      check(self.dim >= 2, 'linalg.cond: The input tensor must have at least 2 dimensions.');
      const bySingularValues = Math.abs(Number(orderIn(args))) === 2;
      if (self.numel > 0) {
        if (!bySingularValues)
          checkSquare(self, `linalg.cond(ord=${typeof p === 'string' ? p : orderText(Number(p))})`);
        checkFloating(self, bySingularValues ? 'linalg.svd' : 'linalg.inv', bySingularValues);
      }
      return { sizes: batchOf(self), dtype: realType(self.dtype) };
    },
    *host(args, [result]) {
      if (args.self.numel === 0) return;
      writeVectors(result, yield* mapped(yield* readMatrices(args.self), (matrix) => condition(matrix, orderIn(args))));
    },
  });
}

/** Singular values count that are above the larger of an absolute bound and one relative to the largest. */
interface Tolerances {
  readonly atol: Tensor | number | null;
  readonly rtol: Tensor | number | null;
}

interface RankArgs {
  readonly self: Tensor;
  readonly input?: Tensor;
  readonly hermitian: boolean;
  readonly tol?: Tensor | number;
  readonly rcond?: Tensor | number;
  readonly atol?: Tensor | number | null;
  readonly rtol?: Tensor | number | null;
}

/** A number for each matrix, and the batch dimensions that a tensor of them has. */
function boundOf(value: Tensor | number, batch: readonly number[]): (at: number) => number {
  if (typeof value === 'number') return () => value;
  const numbers = readNumbers(expand(value, batch));
  return (at) => numbers[at];
}

function thresholds(
  self: Tensor,
  { atol, rtol }: Tolerances,
  batch: readonly number[],
): (at: number, most: number) => number {
  const usual = epsilonOf(self.dtype) * Math.max(...self.sizes.slice(-2));
  const absolute = boundOf(atol ?? 0, batch);
  const relative = rtol === null ? null : boundOf(rtol, batch);
  return (at, most) => {
    const bound = absolute(at);
    return Math.max(bound, (relative ? relative(at) : bound > 0 ? 0 : usual) * most);
  };
}

const batchWith = (self: Tensor, { atol, rtol }: Tolerances): readonly number[] =>
  [atol, rtol].reduce<readonly number[]>(
    (sizes, bound) => (bound instanceof Tensor ? broadcastSizes(sizes, bound.sizes) : sizes),
    batchOf(self),
  );

const expandBatch = (self: Tensor, batch: readonly number[]): Tensor =>
  expand(self, [...batch, ...self.sizes.slice(-2)]);

const rankTolerances = ({ tol, atol, rtol }: RankArgs): Tolerances =>
  tol === undefined ? { atol: atol ?? null, rtol: rtol ?? null } : { atol: tol, rtol: 0 };

function rankRow(schema: string, out: string): OperatorRow {
  return kernel<RankArgs>(schema, {
    out,
    shape(args) {
      const self = args.self ?? args.input;
      checkMatrix(self, 'torch.linalg.matrix_rank', 'input');
      const tolerances = rankTolerances(args);
      if (tolerances.rtol === null) epsilonOf(self.dtype);
      if (self.numel > 0) {
        if (args.hermitian) checkSquare(self, 'linalg.eigh');
        else checkFloating(self, 'linalg.svd', true);
        refuseKernel(args.hermitian ? 'linalg_eigh_cpu' : 'linalg_svd_cpu', self);
      }
      return { sizes: batchWith(self, tolerances), dtype: 'int64' };
    },
    *host(args, [result]) {
      const self = args.self ?? args.input;
      if (self.numel === 0) return;
      const tolerances = rankTolerances(args);
      const threshold = thresholds(self, tolerances, result.sizes);
      writeVectors(
        result,
        yield* mapped(yield* readMatrices(expandBatch(self, result.sizes)), function* (matrix, at) {
          const values = yield* spectrum(matrix, args.hermitian);
          const bound = threshold(at, extreme(values, false));
          return values.filter((value) => value > bound).length;
        }),
      );
    },
  });
}

/** The singular value decomposition of a Hermitian matrix from its eigenvectors: u = sign(λ)·v. */
function* hermitianSingularValues(matrix: Matrix): Pieces<SingularValues> {
  const { values, vectors } = yield* hermitianEigen(matrix);
  const u = Matrix.build(matrix.rows, matrix.rows, (i, j) => {
    const [re, im] = vectors.at(i, j);
    return values[j] < 0 ? [-re, -im] : [re, im];
  });
  return { u, s: values.map(Math.abs), v: vectors };
}

/** V·diag(1/s)·Uᴴ over the singular values above the bound. */
function pseudoinverse({ u, s, v }: SingularValues, bound: number): Pieces<Matrix> {
  const scaled = Matrix.build(v.rows, s.length, (i, j) => {
    const [re, im] = v.at(i, j);
    return s[j] > bound ? [re / s[j], im / s[j]] : [0, 0];
  });
  return scaled.multiply(u.adjoint());
}

const pinvTolerances = ({ rcond, atol, rtol }: RankArgs): Tolerances =>
  rcond === undefined ? { atol: atol ?? null, rtol: rtol ?? null } : { atol: 0, rtol: rcond };

function pinvRow(schema: string, out: string | false): OperatorRow {
  return kernel<RankArgs>(schema, {
    out,
    shape(args) {
      const { self, rcond } = args;
      check(
        !(rcond instanceof Tensor && isComplex(rcond.dtype)),
        'torch.linalg.pinv: rcond tensor of complex type is not supported.',
      );
      if (pinvTolerances(args).rtol === null) {
        wrapDimOfRanked(-2, self.dim);
        epsilonOf(self.dtype);
      }
      const isTaken = ['float32', 'float64', 'complex64', 'complex128'].includes(self.dtype) && self.dim >= 2;
      check(
        isTaken,
        () =>
          `linalg.pinv(${dtypeName(self.dtype)}{[${self.sizes.join(', ')}]}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types`,
      );
      if (args.hermitian && self.numel > 0) checkSquare(self, 'linalg.eigh');
      const [rows, columns] = self.sizes.slice(-2);
      // Of no elements the bounds are not looked at, nor their sizes.
      const batch = self.numel === 0 ? batchOf(self) : batchWith(self, pinvTolerances(args));
      return { sizes: [...batch, columns, rows], dtype: self.dtype };
    },
    *host(args, [result]) {
      if (result.numel === 0) return;
      const batch = batchOf(result);
      const threshold = thresholds(args.self, pinvTolerances(args), batch);
      yield* writeMatrices(
        result,
        yield* mapped(yield* readMatrices(expandBatch(args.self, batch)), function* (matrix, at) {
          const factors = yield* args.hermitian ? hermitianSingularValues(matrix) : singularValues(matrix);
          return yield* pseudoinverse(factors, threshold(at, extreme(factors.s, false)));
        }),
      );
    },
  });
}

interface LstsqArgs {
  readonly self: Tensor;
  readonly b: Tensor;
  readonly rcond: number | null;
  readonly driver: string | null;
}

function checkLeastSquares({ self, b, driver }: LstsqArgs, isVector: boolean): void {
  const api = 'torch.linalg.lstsq';
  check(self.dim >= 2, `${api}: input must have at least 2 dimensions.`);
  check(b.dim >= 1, `${api}: other must have at least 1 dimension.`);
  check(
    self.dtype === b.dtype,
    `${api}: Expected input and other to have the same dtype, but got input's dtype ${dtypeName(self.dtype)} and other's dtype ${dtypeName(b.dtype)}`,
  );
  const [dim, name] = isVector || b.dim < self.dim ? [-1, 'other.size(-1)'] : [-2, 'other.size(-2)'];
  check(self.sizes.at(-2) === b.sizes.at(dim), `${api}: input.size(-2) should match ${name}`);
  if (driver !== null && !['gels', 'gelsy', 'gelsd', 'gelss'].includes(driver)) {
    throw new OperatorError(`${api}: parameter \`driver\` should be one of (gels, gelsy, gelsd, gelss)`);
  }
}

const leastSquares = kernel<LstsqArgs>(
  'aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)',
  {
    out: 'out(solution, residuals, rank, singular_values)',
    *host(args) {
      const { self, b, rcond } = args;
      const driver = args.driver ?? 'gelsy';
      const vectorSizes = self.sizes.slice(0, -1);
      const isVector = self.dim - 1 === b.dim && b.sizes.every((size, dim) => size === vectorSizes[dim]);
      checkLeastSquares(args, isVector);
      if (rcond === null) epsilonOf(self.dtype);
      refuseKernel('linalg_lstsq_cpu', self);
      const right = isVector ? b.asStrided([...b.sizes, 1], [...b.strides, 1]) : b;
      const batch = broadcastSizes(batchOf(self), batchOf(right));
      const [rows, columns] = self.sizes.slice(-2);
      const width = right.sizes.at(-1)!;
      const sides = yield* readMatrices(expandBatch(right, batch));
      const matrices = yield* readMatrices(expandBatch(self, batch));
      const factors = yield* mapped(matrices, singularValues);
      const cutoff = driver === 'gels' ? 0 : (rcond ?? epsilonOf(self.dtype) * Math.max(rows, columns));
      const bounds = factors.map(({ s }) => cutoff * extreme(s, false));
      const solutions = yield* mapped(factors, function* (each, i) {
        return yield* (yield* pseudoinverse(each, bounds[i])).multiply(sides[i]);
      });
      const ranks = factors.map(({ s }, i) => s.filter((value) => value > bounds[i]).length);

      const solution = Tensor.empty([...batch, columns, ...(isVector ? [] : [width])], self.dtype);
      yield* writeMatrices(solution, solutions);
      const realDtype = realType(self.dtype);
      const knowsResiduals =
        rows > columns && driver !== 'gelsy' && (driver === 'gels' || ranks.every((rank) => rank === columns));
      const residuals = Tensor.empty(knowsResiduals ? [...batch, ...(isVector ? [] : [width])] : [0], realDtype);
      if (knowsResiduals) {
        writeVectors(
          residuals,
          yield* mapped(matrices, function* (matrix, i) {
            return squaredColumns((yield* matrix.multiply(solutions[i])).add(sides[i], -1));
          }),
        );
      }
      const ownBatch = batchOf(self);
      const rank = Tensor.empty(driver === 'gels' ? [0] : ownBatch, 'int64');
      const count = ownBatch.reduce((product, size) => product * size, 1);
      if (driver !== 'gels') writeVectors(rank, ranks.slice(0, count));
      const hasValues = driver === 'gelsd' || driver === 'gelss';
      const values = Tensor.empty(hasValues ? [...ownBatch, Math.min(rows, columns)] : [0], realDtype);
      if (hasValues)
        writeVectors(
          values,
          factors.slice(0, count).map(({ s }) => s),
        );
      return [solution, residuals, rank, values];
    },
  },
);

/** The sum of squared magnitudes of each column. */
function squaredColumns(matrix: Matrix): Float64Array {
  const sums = new Float64Array(matrix.columns);
  matrix.re.forEach((re, i) => (sums[i % matrix.columns] += re * re + matrix.im[i] ** 2));
  return sums;
}

export const spectralRows: readonly OperatorRow[] = [
  normRow(
    'aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    planMatrixNorm,
  ),
  normRow(
    'aten::linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    planMatrixNorm,
  ),
  normRow(
    'aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    planNorm,
  ),
  normRow(
    'aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    planNorm,
  ),
  normRow('aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor', nuclear),
  normRow('aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor', nuclear),
  condRow('aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor', 'out'),
  condRow('aten::linalg_cond.p_str(Tensor self, str p) -> Tensor', 'p_str_out'),
  rankRow('aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor', 'out'),
  rankRow(
    'aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor',
    'out_tol_tensor',
  ),
  rankRow(
    'aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor',
    'atol_rtol_tensor_out',
  ),
  rankRow(
    'aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor',
    'atol_rtol_float_out',
  ),
  pinvRow('aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor', 'out'),
  pinvRow(
    'aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor',
    'out_rcond_tensor',
  ),
  pinvRow(
    'aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor',
    'atol_rtol_float_out',
  ),
  pinvRow(
    'aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor',
    'atol_rtol_tensor_out',
  ),
  pinvRow('aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor', false),
  leastSquares,
];
