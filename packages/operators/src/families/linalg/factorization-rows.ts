import { mapped } from '../../kernels/loops/mapped.ts';
import { type Pieces } from '../../kernels/loops/pieces.ts';
import { symSame, isComplex, type Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { checkFloating, checkInfos, checkMatrix, checkSquare } from './checks.ts';
import { cholesky } from './cholesky.ts';
import { formQ, geqrf, multiplyByQ, qr } from './householder.ts';
import { ldlFactor } from './ldl.ts';
import { luFactor, permutationMatrix } from './lu.ts';
import { batchMeta, batchOf, Matrix, readMatrices, readParts, writeMatrices, writeVectors } from './matrix.ts';
import { readNumbers } from '../../kernels/numbers/numbers.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';

/** Factorisations of matrices in the last two dimensions (ATen/native/BatchLinearAlgebra.cpp); on the host. */

interface CholeskyArgs {
  readonly self: Tensor;
  readonly upper: boolean;
  readonly check_errors?: boolean;
}

/** A factor for each matrix; where `upper`, the upper triangle is read and the factor is U with A = Uᴴ·U. */
function* choleskyFactors(self: Tensor, upper: boolean): Pieces<{ factors: Matrix[]; infos: number[] }> {
  const results = yield* mapped(yield* readMatrices(self), (matrix) => cholesky(upper ? matrix.adjoint() : matrix));
  return {
    factors: results.map(({ l }) => (upper ? l.adjoint() : l)),
    infos: results.map(({ info }) => info),
  };
}

function choleskyRow(schema: string, api: string, isOld: boolean): OperatorRow {
  return kernel<CholeskyArgs>(schema, {
    out: true,
    shape({ self }) {
      if (!isOld || self.numel > 0) checkSquare(self, api);
      if (!isOld) checkFloating(self, api, true);
      return { sizes: self.sizes, dtype: self.dtype };
    },
    *host({ self, upper }, [out]) {
      if (self.numel === 0) return;
      const { factors, infos } = yield* choleskyFactors(self, upper);
      checkInfos(infos, api, self.dim === 2);
      yield* writeMatrices(out, factors);
    },
  });
}

const choleskyEx = kernel<CholeskyArgs>(
  'aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)',
  {
    out: 'L(L, info)',
    shape({ self }) {
      checkSquare(self, 'linalg.cholesky');
      checkFloating(self, 'linalg.cholesky', true);
      return [
        { sizes: self.sizes, dtype: self.dtype },
        { sizes: batchOf(self), dtype: 'int32' },
      ];
    },
    *host({ self, upper, check_errors: checking }, [out, info]) {
      const { factors, infos } = yield* choleskyFactors(self, upper);
      if (checking) checkInfos(infos, 'linalg.cholesky_ex', self.dim === 2);
      yield* writeMatrices(out, factors);
      writeVectors(info, infos);
    },
  },
);

function qrRow(
  schema: string,
  out: string,
  modeOf: (args: { mode?: string; some?: boolean }) => 'reduced' | 'complete' | 'r',
): OperatorRow {
  interface Args {
    readonly A?: Tensor;
    readonly self?: Tensor;
    readonly mode?: string;
    readonly some?: boolean;
  }
  return kernel<Args>(schema, {
    out,
    shape(args) {
      const self = (args.A ?? args.self)!;
      const mode = modeOf(args);
      checkMatrix(self, 'linalg.qr');
      checkFloating(self, 'linalg.qr', true);
      const [rows, columns] = self.sizes.slice(-2);
      const inner = mode === 'complete' ? rows : Math.min(rows, columns);
      return [
        mode === 'r' ? { sizes: [0], dtype: self.dtype } : batchMeta(batchOf(self), [rows, inner], self.dtype),
        batchMeta(batchOf(self), [inner, columns], self.dtype),
      ];
    },
    *host(args, [q, r]) {
      const mode = modeOf(args);
      const factors = yield* mapped(yield* readMatrices((args.A ?? args.self)!), (matrix) =>
        qr(matrix, mode === 'complete'),
      );
      if (mode !== 'r')
        yield* writeMatrices(
          q,
          factors.map((each) => each.q),
        );
      yield* writeMatrices(
        r,
        factors.map((each) => each.r),
      );
    },
  });
}

function qrMode({ mode }: { mode?: string }): 'reduced' | 'complete' | 'r' {
  check(
    mode === 'reduced' || mode === 'complete' || mode === 'r',
    `qr received unrecognized mode '${mode}' but expected one of 'reduced' (default), 'r', or 'complete'`,
  );
  return mode;
}

const geqrfRow = kernel<{ self: Tensor }>('aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)', {
  out: 'a(a, tau)',
  shape({ self }) {
    check(self.dim >= 2, 'torch.geqrf: input must have at least 2 dimensions.');

    const [rows, columns] = self.sizes.slice(-2);
    return [{ sizes: self.sizes, dtype: self.dtype }, batchMeta(batchOf(self), [Math.min(rows, columns)], self.dtype)];
  },
  *host({ self }, [a, tau]) {
    const results = yield* mapped(yield* readMatrices(self), geqrf);
    yield* writeMatrices(
      a,
      results.map((each) => each.a),
    );
    yield* writeMatrices(
      tau,
      results.map((each) => each.tau),
    );
  },
});

/** The reflectors that a tensor of them and one of their factors hold, batch by batch. */
function* reflectorsOf(vectors: Tensor, tau: Tensor): Pieces<{ a: Matrix; tau: Matrix }[]> {
  const count = tau.sizes.at(-1)!;
  const { re, im } = yield* readParts(tau);
  const matrices = yield* readMatrices(vectors);
  return matrices.map((a, b) => {
    const [start, end] = [b * count, (b + 1) * count];
    return { a, tau: new Matrix(1, count, re.slice(start, end), im.slice(start, end)) };
  });
}

/** Numbers that belong to reflectors have the dimensions of these but for one, and their batch. */
function checkTau(input: Tensor, tau: Tensor, api: string): void {
  check(
    input.dim - tau.dim === 1,
    () =>
      `${api}: Expected tau to have one dimension less than input, but got tau.ndim equal to ${tau.dim} and input.ndim is equal to ${input.dim}`,
  );
  check(
    symSame(batchOf(input), tau.sizes.slice(0, -1)),
    () =>
      `${api}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got ${sizesText(tau.sizes.slice(0, -1))}`,
  );
}

function householderProduct(schema: string, nameOfVectors: 'input' | 'self', nameOfTau: 'tau' | 'input2'): OperatorRow {
  return kernel<Record<string, Tensor>>(schema, {
    out: true,
    shape(args) {
      const [input, tau] = [args[nameOfVectors], args[nameOfTau]];
      checkMatrix(input, 'torch.linalg.householder_product', 'input');
      const [rows, columns] = input.sizes.slice(-2);
      check(
        rows >= columns,
        'torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]',
      );
      check(
        columns >= (tau.sizes.at(-1) ?? 1),
        'torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]',
      );
      checkTau(input, tau, 'torch.linalg.householder_product');
      check(
        tau.dtype === input.dtype,
        () =>
          `torch.linalg.householder_product: tau dtype ${dtypeName(tau.dtype)} does not match input dtype ${dtypeName(input.dtype)}`,
      );
      return { sizes: input.sizes, dtype: input.dtype };
    },
    *host(args, [out]) {
      const input = args[nameOfVectors];
      const columns = input.sizes.at(-1)!;
      yield* writeMatrices(
        out,
        yield* mapped(yield* reflectorsOf(input, args[nameOfTau]), (each) => formQ(each, columns)),
      );
    },
  });
}

interface OrmqrArgs {
  readonly self: Tensor;
  readonly input2: Tensor;
  readonly input3: Tensor;
  readonly left: boolean;
  readonly transpose: boolean;
}

const ormqr = kernel<OrmqrArgs>(
  'aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor',
  {
    out: true,
    shape({ self, input2: tau, input3: other, left }) {
      check(self.dim >= 2, 'torch.ormqr: input must have at least 2 dimensions.');
      check(other.dim >= 2, 'torch.ormqr: other must have at least 2 dimensions.');
      const side = left ? -2 : -1;
      check(
        other.sizes.at(side) === self.sizes.at(-2),
        `torch.ormqr: other.shape[${side}] must be equal to input.shape[-2]`,
      );
      check(
        (tau.sizes.at(-1) ?? 1) === Math.min(other.sizes.at(side)!, self.sizes.at(-1)!),
        `torch.ormqr: tau.shape[-1] must be equal to min(other.shape[${side}], input.shape[-1])`,
      );
      checkTau(self, tau, 'torch.ormqr');
      check(
        self.dim === other.dim,
        () =>
          `torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to ${other.dim} and input.ndim is equal to ${self.dim}`,
      );
      check(
        symSame(batchOf(self), batchOf(other)),
        () =>
          `torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got ${sizesText(batchOf(other))}`,
      );
      for (const [name, { dtype }] of [
        ['tau', tau],
        ['other', other],
      ] as const) {
        check(
          dtype === self.dtype,
          () =>
            `torch.ormqr: Expected input and ${name} to have the same dtype, but input has dtype${dtypeName(self.dtype)} and ${name} has dtype ${dtypeName(dtype)}`,
        );
      }
      return { sizes: other.sizes, dtype: other.dtype };
    },
    *host({ self, input2: tau, input3: other, left, transpose }, [out]) {
      const reflectors = yield* reflectorsOf(self, tau);
      yield* writeMatrices(
        out,
        yield* mapped(yield* readMatrices(other), function* (b, i) {
          if (left) return yield* multiplyByQ(reflectors[i], b, transpose);
          return (yield* multiplyByQ(reflectors[i], b.adjoint(), !transpose)).adjoint();
        }),
      );
    },
  },
);

interface LuArgs {
  readonly A?: Tensor;
  readonly self?: Tensor;
  readonly pivot: boolean;
  readonly check_errors?: boolean;
}

function checkFactored(self: Tensor, pivot: boolean, api: string): void {
  check(
    self.dim >= 2,
    () => `${api}: Expected tensor with 2 or more dimensions. Got size: ${sizesText(self.sizes)} instead`,
  );
  check(pivot || self.numel === 0, 'linalg.lu_factor: LU without pivoting is not implemented on the CPU');
}

function luFactorRow(schema: string, out: string | false, hasInfo: boolean, checks: boolean, api: string): OperatorRow {
  return kernel<LuArgs>(schema, {
    out,
    shape(args) {
      const self = (args.A ?? args.self)!;
      checkFactored(self, args.pivot, 'torch.lu_factor');
      const steps = Math.min(...self.sizes.slice(-2));
      const metas: TensorMeta[] = [
        { sizes: self.sizes, dtype: self.dtype },
        batchMeta(batchOf(self), [steps], 'int32'),
      ];
      return hasInfo ? [...metas, { sizes: batchOf(self), dtype: 'int32' }] : metas;
    },
    *host(args, [lu, pivots, info]) {
      const self = (args.A ?? args.self)!;
      const factors = yield* mapped(yield* readMatrices(self), (matrix) => luFactor(matrix, args.pivot));
      const infos = factors.map((each) => each.info);
      if (checks || args.check_errors) checkInfos(infos, api, self.dim === 2);
      yield* writeMatrices(
        lu,
        factors.map((each) => each.lu),
      );
      writeVectors(
        pivots,
        factors.map((each) => each.pivots),
      );
      if (hasInfo) writeVectors(info, infos);
    },
  });
}

const luShapes = (self: Tensor, withP: boolean, withLu: boolean): TensorMeta[] => {
  const [rows, columns] = self.sizes.slice(-2);
  const inner = Math.min(rows, columns);
  const none: TensorMeta = { sizes: [0], dtype: self.dtype };
  return [
    withP ? batchMeta(batchOf(self), [rows, rows], self.dtype) : none,
    withLu ? batchMeta(batchOf(self), [rows, inner], self.dtype) : none,
    withLu ? batchMeta(batchOf(self), [inner, columns], self.dtype) : none,
  ];
};

/** What lies in so many rows and columns on and above the diagonal, or below it with ones on it. */
function* leadingTriangle(lu: Matrix, isUpper: boolean, rows: number, columns: number): Pieces<Matrix> {
  const triangle = lu.triangle(isUpper, !isUpper);
  yield;
  return triangle.leading(rows, columns);
}

function* writeLu(lus: readonly Matrix[], [l, u]: readonly Tensor[]): Pieces {
  const ranks = lus.map(({ rows, columns }) => Math.min(rows, columns));
  const lower = yield* mapped(lus, (lu, at) => leadingTriangle(lu, false, lu.rows, ranks[at]));
  yield* writeMatrices(l, lower);
  const upper = yield* mapped(lus, (lu, at) => leadingTriangle(lu, true, ranks[at], lu.columns));
  yield* writeMatrices(u, upper);
}

const luRow = kernel<{ A: Tensor; pivot: boolean }>(
  'aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)',
  {
    out: 'out(P, L, U)',
    shape({ A, pivot }) {
      checkFactored(A, pivot, 'linalg.lu');
      return luShapes(A, pivot, true);
    },
    *host({ A, pivot }, [p, l, u]) {
      const factors = yield* mapped(yield* readMatrices(A), (matrix) => luFactor(matrix, pivot));
      if (pivot)
        yield* writeMatrices(
          p,
          factors.map(({ pivots }) => permutationMatrix(pivots, A.sizes.at(-2)!)),
        );
      yield* writeLu(
        factors.map(({ lu }) => lu),
        [l, u],
      );
    },
  },
);

interface LuUnpackArgs {
  readonly LU_data: Tensor;
  readonly LU_pivots: Tensor;
  readonly unpack_data: boolean;
  readonly unpack_pivots: boolean;
}

const luUnpack = kernel<LuUnpackArgs>(
  'aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)',
  {
    out: 'out(P, L, U)',
    shape({ LU_data: data, LU_pivots: pivots, unpack_data: withLu, unpack_pivots: withP }) {
      checkMatrix(data, 'torch.lu_unpack', 'LU_data');
      check(
        !withP || pivots.dtype === 'int32',
        'torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to be used with the output produced by torch.linalg.lu_factor',
      );
      return luShapes(data, withP, withLu);
    },
    *host({ LU_data: data, LU_pivots: pivots, unpack_data: withLu, unpack_pivots: withP }, [p, l, u]) {
      if (withLu) yield* writeLu(yield* readMatrices(data), [l, u]);
      if (!withP) return;
      const numbers = readNumbers(pivots);
      const count = pivots.sizes.at(-1)!;
      const batches = batchOf(data).reduce((product, length) => product * length, 1);
      yield* writeMatrices(
        p,
        Array.from({ length: batches }, (_, b) =>
          permutationMatrix(numbers.subarray(b * count, (b + 1) * count), data.sizes.at(-2)!),
        ),
      );
    },
  },
);

interface LdlArgs {
  readonly self: Tensor;
  readonly hermitian: boolean;
  readonly check_errors?: boolean;
}

function ldlRow(schema: string, out: string, hasInfo: boolean): OperatorRow {
  const api = hasInfo ? 'torch.linalg.ldl_factor_ex' : 'torch.linalg.ldl_factor';
  return kernel<LdlArgs>(schema, {
    out,
    shape({ self }) {
      checkSquare(self, 'torch.linalg.ldl_factor_ex');
      checkFloating(self, 'torch.linalg.ldl_factor_ex', true);
      const metas: TensorMeta[] = [
        { sizes: self.sizes, dtype: self.dtype },
        { sizes: self.sizes.slice(0, -1), dtype: 'int32' },
      ];
      return hasInfo ? [...metas, { sizes: batchOf(self), dtype: 'int32' }] : metas;
    },
    *host({ self, hermitian, check_errors: checking }, [ld, pivots, info]) {
      const isHermitian = hermitian && isComplex(self.dtype);
      const factors = yield* mapped(yield* readMatrices(self), (matrix) => ldlFactor(matrix, isHermitian));
      const infos = factors.map((each) => each.info);
      if (checking) checkInfos(infos, api, self.dim === 2);
      yield* writeMatrices(
        ld,
        factors.map((each) => each.ld.triangle(false)),
      );
      writeVectors(
        pivots,
        factors.map((each) => each.pivots),
      );
      if (hasInfo) writeVectors(info, infos);
    },
  });
}

export const factorizationRows: readonly OperatorRow[] = [
  choleskyRow('aten::cholesky(Tensor self, bool upper=False) -> Tensor', 'cholesky', true),
  choleskyRow('aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor', 'linalg.cholesky', false),
  choleskyEx,
  qrRow('aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', 'out(Q, R)', qrMode),
  qrRow('aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)', 'Q(Q, R)', ({ some }) =>
    some ? 'reduced' : 'complete',
  ),
  geqrfRow,
  householderProduct('aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor', 'input', 'tau'),
  householderProduct('aten::orgqr(Tensor self, Tensor input2) -> Tensor', 'self', 'input2'),
  ormqr,
  luFactorRow(
    'aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)',
    'out(LU, pivots)',
    false,
    true,
    'torch.linalg.lu_factor',
  ),
  luFactorRow(
    'aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)',
    'out(LU, pivots, info)',
    true,
    false,
    'torch.linalg.lu_factor_ex',
  ),
  luFactorRow(
    'aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)',
    false,
    true,
    false,
    'torch.linalg.lu_factor_ex',
  ),
  luRow,
  luUnpack,
  ldlRow(
    'aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)',
    'out(LD, pivots)',
    false,
  ),
  ldlRow(
    'aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)',
    'out(LD, pivots, info)',
    true,
  ),
];
