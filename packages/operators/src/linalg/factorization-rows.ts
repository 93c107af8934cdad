import { isComplex, realType, type ScalarType, type Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { check } from '../errors.ts';
import type { OperatorRow, TensorMeta } from '../row.ts';
import { checkFloating, checkInfos, checkMatrix, checkSquare } from './checks.ts';
import { cholesky } from './cholesky.ts';
import { eigen } from './eigen.ts';
import { formQ, geqrf, multiplyByQ, qr } from './householder.ts';
import { completeBasis, hermitianEigen, singularValues } from './jacobi.ts';
import { ldlFactor } from './ldl.ts';
import { luFactor, permutationMatrix } from './lu.ts';
import { Matrix, readMatrices, readParts, writeMatrices, writeVectors } from './matrix.ts';
import { readNumbers } from '../nn/numbers.ts';

/** Factorisations of matrices in the last two dimensions (ATen/native/BatchLinearAlgebra.cpp); on the host. */

const batchOf = (self: Tensor): readonly number[] => self.sizes.slice(0, -2);
const meta = (batch: readonly number[], sizes: readonly number[], dtype: ScalarType): TensorMeta => ({
  sizes: [...batch, ...sizes],
  dtype,
});

interface CholeskyArgs {
  readonly self: Tensor;
  readonly upper: boolean;
  readonly check_errors?: boolean;
}

/** A factor for each matrix; where `upper`, the upper triangle is read and the factor is U with A = Uᴴ·U. */
function choleskyFactors(self: Tensor, upper: boolean): { factors: Matrix[]; infos: number[] } {
  const results = readMatrices(self).map((matrix) => cholesky(upper ? matrix.adjoint() : matrix));
  return {
    factors: results.map(({ l }) => (upper ? l.adjoint() : l)),
    infos: results.map(({ info }) => info),
  };
}

function choleskyRow(schema: string, api: string, checkArgument: string): OperatorRow {
  return kernel<CholeskyArgs>(schema, {
    out: true,
    shape({ self }) {
      checkSquare(self, api, checkArgument);
      checkFloating(self, api);
      return { sizes: self.sizes, dtype: self.dtype };
    },
    host({ self, upper }, [out]) {
      const { factors, infos } = choleskyFactors(self, upper);
      checkInfos(infos, api, self.dim === 2);
      writeMatrices(out, factors);
    },
  });
}

const choleskyEx = kernel<CholeskyArgs>(
  'aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)',
  {
    out: 'L(L, info)',
    shape({ self }) {
      checkSquare(self, 'linalg.cholesky');
      checkFloating(self, 'linalg.cholesky');
      return [
        { sizes: self.sizes, dtype: self.dtype },
        { sizes: batchOf(self), dtype: 'int32' },
      ];
    },
    host({ self, upper, check_errors: checking }, [out, info]) {
      const { factors, infos } = choleskyFactors(self, upper);
      if (checking) checkInfos(infos, 'linalg.cholesky_ex', self.dim === 2);
      writeMatrices(out, factors);
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
      checkFloating(self, 'linalg.qr');
      const [rows, columns] = self.sizes.slice(-2);
      const inner = mode === 'complete' ? rows : Math.min(rows, columns);
      return [
        mode === 'r' ? { sizes: [0], dtype: self.dtype } : meta(batchOf(self), [rows, inner], self.dtype),
        meta(batchOf(self), [inner, columns], self.dtype),
      ];
    },
    host(args, [q, r]) {
      const mode = modeOf(args);
      const factors = readMatrices((args.A ?? args.self)!).map((matrix) => qr(matrix, mode === 'complete'));
      if (mode !== 'r')
        writeMatrices(
          q,
          factors.map((each) => each.q),
        );
      writeMatrices(
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
    checkMatrix(self, 'geqrf', 'input');
    checkFloating(self, 'geqrf');
    const [rows, columns] = self.sizes.slice(-2);
    return [{ sizes: self.sizes, dtype: self.dtype }, meta(batchOf(self), [Math.min(rows, columns)], self.dtype)];
  },
  host({ self }, [a, tau]) {
    const results = readMatrices(self).map(geqrf);
    writeMatrices(
      a,
      results.map((each) => each.a),
    );
    writeMatrices(
      tau,
      results.map((each) => each.tau),
    );
  },
});

/** The reflectors that a tensor of them and one of their factors hold, batch by batch. */
function reflectorsOf(vectors: Tensor, tau: Tensor): { a: Matrix; tau: Matrix }[] {
  const count = tau.sizes.at(-1)!;
  const { re, im } = readParts(tau);
  return readMatrices(vectors).map((a, b) => {
    const [start, end] = [b * count, (b + 1) * count];
    return { a, tau: new Matrix(1, count, re.slice(start, end), im.slice(start, end)) };
  });
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
        columns >= tau.sizes.at(-1)!,
        'torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]',
      );
      check(
        tau.dtype === input.dtype,
        `torch.linalg.householder_product: tau dtype ${tau.dtype} does not match input dtype ${input.dtype}`,
      );
      return { sizes: input.sizes, dtype: input.dtype };
    },
    host(args, [out]) {
      const input = args[nameOfVectors];
      const columns = input.sizes.at(-1)!;
      writeMatrices(
        out,
        reflectorsOf(input, args[nameOfTau]).map((each) => formQ(each, columns)),
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
        tau.sizes.at(-1) === Math.min(other.sizes.at(side)!, self.sizes.at(-1)!),
        `torch.ormqr: tau.shape[-1] must be equal to min(other.shape[${side}], input.shape[-1])`,
      );
      check(
        other.sizes.at(side) === self.sizes.at(-2),
        `torch.ormqr: other.shape[${side}] must be equal to input.shape[-2]`,
      );
      return { sizes: other.sizes, dtype: other.dtype };
    },
    host({ self, input2: tau, input3: other, left, transpose }, [out]) {
      const reflectors = reflectorsOf(self, tau);
      writeMatrices(
        out,
        readMatrices(other).map((b, i) =>
          left
            ? multiplyByQ(reflectors[i], b, transpose)
            : multiplyByQ(reflectors[i], b.adjoint(), !transpose).adjoint(),
        ),
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

function luFactorRow(schema: string, out: string | false, hasInfo: boolean, checks: boolean, api: string): OperatorRow {
  return kernel<LuArgs>(schema, {
    out,
    shape(args) {
      const self = (args.A ?? args.self)!;
      checkMatrix(self, 'torch.lu_factor');
      checkFloating(self, 'torch.lu_factor');
      const steps = Math.min(...self.sizes.slice(-2));
      const metas: TensorMeta[] = [{ sizes: self.sizes, dtype: self.dtype }, meta(batchOf(self), [steps], 'int32')];
      return hasInfo ? [...metas, { sizes: batchOf(self), dtype: 'int32' }] : metas;
    },
    host(args, [lu, pivots, info]) {
      const self = (args.A ?? args.self)!;
      const factors = readMatrices(self).map((matrix) => luFactor(matrix, args.pivot));
      const infos = factors.map((each) => each.info);
      if (checks || args.check_errors) checkInfos(infos, api, self.dim === 2);
      writeMatrices(
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
    withP ? meta(batchOf(self), [rows, rows], self.dtype) : none,
    withLu ? meta(batchOf(self), [rows, inner], self.dtype) : none,
    withLu ? meta(batchOf(self), [inner, columns], self.dtype) : none,
  ];
};

function writeLu(lus: readonly Matrix[], [l, u]: readonly Tensor[]): void {
  writeMatrices(
    l,
    lus.map((lu) => lu.triangle(false, true).leading(lu.rows, Math.min(lu.rows, lu.columns))),
  );
  writeMatrices(
    u,
    lus.map((lu) => lu.triangle(true).leading(Math.min(lu.rows, lu.columns), lu.columns)),
  );
}

const luRow = kernel<{ A: Tensor; pivot: boolean }>(
  'aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)',
  {
    out: 'out(P, L, U)',
    shape({ A, pivot }) {
      checkMatrix(A, 'linalg.lu');
      checkFloating(A, 'linalg.lu');
      return luShapes(A, pivot, true);
    },
    host({ A, pivot }, [p, l, u]) {
      const factors = readMatrices(A).map((matrix) => luFactor(matrix, pivot));
      if (pivot)
        writeMatrices(
          p,
          factors.map(({ pivots }) => permutationMatrix(pivots, A.sizes.at(-2)!)),
        );
      writeLu(
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
    host({ LU_data: data, LU_pivots: pivots, unpack_data: withLu, unpack_pivots: withP }, [p, l, u]) {
      if (withLu) writeLu(readMatrices(data), [l, u]);
      if (!withP) return;
      const numbers = readNumbers(pivots);
      const count = pivots.sizes.at(-1)!;
      const batches = batchOf(data).reduce((product, length) => product * length, 1);
      writeMatrices(
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
      checkSquare(self, 'torch.linalg.ldl_factor_ex', 'self');
      checkFloating(self, 'torch.linalg.ldl_factor_ex');
      const metas: TensorMeta[] = [
        { sizes: self.sizes, dtype: self.dtype },
        { sizes: self.sizes.slice(0, -1), dtype: 'int32' },
      ];
      return hasInfo ? [...metas, { sizes: batchOf(self), dtype: 'int32' }] : metas;
    },
    host({ self, hermitian, check_errors: checking }, [ld, pivots, info]) {
      const factors = readMatrices(self).map((matrix) => ldlFactor(matrix, hermitian && isComplex(self.dtype)));
      const infos = factors.map((each) => each.info);
      if (checking) checkInfos(infos, api, self.dim === 2);
      writeMatrices(
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

interface SvdArgs {
  readonly A?: Tensor;
  readonly self?: Tensor;
  readonly full_matrices?: boolean;
  readonly compute_uv?: boolean;
  readonly some?: boolean;
}

function svdRow(schema: string, out: string, api: string, returnsV = false): OperatorRow {
  const parse = (args: SvdArgs) => ({
    self: (args.A ?? args.self)!,
    full: args.some === undefined ? Boolean(args.full_matrices) : !args.some,
    vectors: args.compute_uv ?? true,
  });
  return kernel<SvdArgs>(schema, {
    out,
    shape(args) {
      const { self, full, vectors } = parse(args);
      checkMatrix(self, api);
      checkFloating(self, api);
      const [rows, columns] = self.sizes.slice(-2);
      const inner = Math.min(rows, columns);
      const [us, vs] = full ? [rows, columns] : [inner, inner];
      const none: TensorMeta = { sizes: [0], dtype: self.dtype };
      const v = returnsV ? [columns, vs] : [vs, columns];
      const s = meta(batchOf(self), [inner], realType(self.dtype));
      // The old `svd` gives matrices of zeros where no vectors are asked for.
      if (!vectors && returnsV) {
        return [meta(batchOf(self), [rows, rows], self.dtype), s, meta(batchOf(self), [columns, columns], self.dtype)];
      }
      return [
        vectors ? meta(batchOf(self), [rows, us], self.dtype) : none,
        s,
        vectors ? meta(batchOf(self), v, self.dtype) : none,
      ];
    },
    host(args, [u, s, v]) {
      const { self, vectors } = parse(args);
      const factors = readMatrices(self).map(singularValues);
      writeVectors(
        s,
        factors.map((each) => each.s),
      );
      if (!vectors) return;
      const inner = Math.min(...self.sizes.slice(-2));
      writeMatrices(
        u,
        factors.map((each) => completeBasis(each.u, inner, u.sizes.at(-1)!)),
      );
      writeMatrices(
        v,
        factors.map((each) => {
          const basis = completeBasis(each.v, inner, v.sizes.at(returnsV ? -1 : -2)!);
          return returnsV ? basis : basis.adjoint();
        }),
      );
    },
  });
}

const svdvals = kernel<{ A: Tensor }>('aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor', {
  out: true,
  shape({ A }) {
    checkMatrix(A, 'linalg.svd');
    checkFloating(A, 'linalg.svd');
    return meta(batchOf(A), [Math.min(...A.sizes.slice(-2))], realType(A.dtype));
  },
  host: ({ A }, [s]) =>
    writeVectors(
      s,
      readMatrices(A).map((matrix) => singularValues(matrix).s),
    ),
});

interface EighArgs {
  readonly self?: Tensor;
  readonly A?: Tensor;
  readonly UPLO: string;
  readonly compute_v?: boolean;
}

function isUpper(uplo: string): boolean {
  const letter = uplo.toUpperCase();
  check(letter === 'U' || letter === 'L', `Expected UPLO argument to be 'L' or 'U', but got ${uplo}`);
  return letter === 'U';
}

function eighRow(schema: string, out: string | true): OperatorRow {
  const withVectors = (args: EighArgs): boolean => out !== true && (args.compute_v ?? true);
  return kernel<EighArgs>(schema, {
    out,
    shape(args) {
      const self = (args.self ?? args.A)!;
      checkSquare(self, 'linalg.eigh');
      checkFloating(self, 'linalg.eigh');
      isUpper(args.UPLO);
      const values: TensorMeta = { sizes: self.sizes.slice(0, -1), dtype: realType(self.dtype) };
      if (out === true) return values;
      return [values, { sizes: withVectors(args) ? self.sizes : [0], dtype: self.dtype }];
    },
    host(args, [values, vectors]) {
      const results = readMatrices((args.self ?? args.A)!).map((matrix) => hermitianEigen(matrix, isUpper(args.UPLO)));
      writeVectors(
        values,
        results.map((each) => each.values),
      );
      if (withVectors(args))
        writeMatrices(
          vectors,
          results.map((each) => each.vectors),
        );
    },
  });
}

const complexType = (dtype: ScalarType): ScalarType =>
  isComplex(dtype) ? dtype : dtype === 'float64' ? 'complex128' : 'complex64';

function eigRow(schema: string, out: string | boolean, withVectors: boolean): OperatorRow {
  return kernel<{ self: Tensor }>(schema, {
    out,
    shape({ self }) {
      checkSquare(self, 'linalg.eig', 'input');
      checkFloating(self, 'linalg.eig');
      const dtype = complexType(self.dtype);
      const values: TensorMeta = { sizes: self.sizes.slice(0, -1), dtype };
      return withVectors ? [values, { sizes: self.sizes, dtype }] : values;
    },
    host({ self }, [values, vectors]) {
      const elements = readParts(self);
      check(
        elements.re.every(Number.isFinite) && elements.im.every(Number.isFinite),
        'torch.linalg.eig: input tensor should not contain infs or NaNs.',
      );
      const results = readMatrices(self).map((matrix) => eigen(matrix, !isComplex(self.dtype)));
      writeMatrices(
        values,
        results.map((each) => each.values),
      );
      if (withVectors)
        writeMatrices(
          vectors,
          results.map((each) => each.vectors),
        );
    },
  });
}

export const factorizationRows: readonly OperatorRow[] = [
  choleskyRow('aten::cholesky(Tensor self, bool upper=False) -> Tensor', 'cholesky', 'A'),
  choleskyRow('aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor', 'linalg.cholesky', 'A'),
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
  svdRow(
    'aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)',
    'U(U, S, Vh)',
    'linalg.svd',
  ),
  svdRow(
    'aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)',
    'U(U, S, Vh)',
    'linalg.svd',
  ),
  svdRow(
    'aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)',
    'U(U, S, V)',
    'linalg.svd',
    true,
  ),
  svdvals,
  eighRow(
    'aten::linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
    'eigvals(eigvals, eigvecs)',
  ),
  eighRow(
    'aten::_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)',
    'eigenvalues(eigenvalues, eigenvectors)',
  ),
  eighRow('aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor', true),
  eigRow(
    'aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)',
    'out(eigenvalues, eigenvectors)',
    true,
  ),
  eigRow('aten::linalg_eigvals(Tensor self) -> Tensor', true, false),
  eigRow('aten::_linalg_eigvals(Tensor self) -> Tensor', false, false),
];
