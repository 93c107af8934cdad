import { isComplex, realType, type ScalarType, type Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { checkFloating, checkMatrix, checkSquare } from './checks.ts';
import { eigen } from './eigen.ts';
import { completeBasis, hermitianEigen, singularValues } from './jacobi.ts';
import { batchMeta, batchOf, type Matrix, readMatrices, readParts, writeMatrices, writeVectors } from './matrix.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';
import { mapped } from '../../kernels/loops/mapped.ts';

/** Singular values and eigenvalues with their vectors (ATen/native/BatchLinearAlgebra.cpp); on the host. */

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
      if (returnsV)
        check(self.dim >= 2, `${api}: input should have at least 2 dimensions, but has ${self.dim} dimensions instead`);
      checkMatrix(self, api);
      checkFloating(self, api, true);
      const [rows, columns] = self.sizes.slice(-2);
      const inner = Math.min(rows, columns);
      const [us, vs] = full ? [rows, columns] : [inner, inner];
      const none: TensorMeta = { sizes: [0], dtype: self.dtype };
      const v = returnsV ? [columns, vs] : [vs, columns];
      const s = batchMeta(batchOf(self), [inner], realType(self.dtype));
      // The old `svd` gives matrices of zeros where no vectors are asked for.
      if (!vectors && returnsV) {
        return [
          batchMeta(batchOf(self), [rows, rows], self.dtype),
          s,
          batchMeta(batchOf(self), [columns, columns], self.dtype),
        ];
      }
      return [
        vectors ? batchMeta(batchOf(self), [rows, us], self.dtype) : none,
        s,
        vectors ? batchMeta(batchOf(self), v, self.dtype) : none,
      ];
    },
    *host(args, [u, s, v]) {
      const { self, vectors } = parse(args);
      const factors = yield* mapped(yield* withoutNan(self), singularValues);
      writeVectors(
        s,
        factors.map((each) => each.s),
      );
      if (!vectors) return;
      const inner = Math.min(...self.sizes.slice(-2));
      yield* writeMatrices(u, yield* mapped(factors, (each) => completeBasis(each.u, inner, u.sizes.at(-1)!)));
      yield* writeMatrices(
        v,
        yield* mapped(factors, function* (each) {
          const basis = yield* completeBasis(each.v, inner, v.sizes.at(returnsV ? -1 : -2)!);
          return returnsV ? basis : basis.adjoint();
        }),
      );
    },
  });
}

/** Matrices for a singular value decomposition, which LAPACK begins by looking for NaN (gesdd). */
function* withoutNan(self: Tensor): Pieces<Matrix[]> {
  const matrices = yield* readMatrices(self);
  const bad = matrices.findIndex(({ re, im }) => re.some(Number.isNaN) || im.some(Number.isNaN));
  const place = self.dim > 2 ? `(Batch element ${bad}): ` : '';
  check(
    bad < 0,
    `linalg.svd: ${place}The algorithm failed to converge because the input matrix contained non-finite values.`,
  );
  return matrices;
}

const svdvals = kernel<{ A: Tensor }>('aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor', {
  out: true,
  shape({ A }) {
    checkMatrix(A, 'linalg.svd');
    checkFloating(A, 'linalg.svd', true);
    return batchMeta(batchOf(A), [Math.min(...A.sizes.slice(-2))], realType(A.dtype));
  },
  *host({ A }, [s]) {
    const factors = yield* mapped(yield* withoutNan(A), singularValues);
    writeVectors(
      s,
      factors.map((each) => each.s),
    );
  },
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
      isUpper(args.UPLO);
      const values: TensorMeta = { sizes: self.sizes.slice(0, -1), dtype: realType(self.dtype) };
      if (out === true) return values;
      return [values, { sizes: withVectors(args) ? self.sizes : [0], dtype: self.dtype }];
    },
    *host(args, [values, vectors]) {
      const upper = isUpper(args.UPLO);
      const results = yield* mapped(yield* readMatrices((args.self ?? args.A)!), (matrix) =>
        hermitianEigen(matrix, upper),
      );
      writeVectors(
        values,
        results.map((each) => each.values),
      );
      if (withVectors(args))
        yield* writeMatrices(
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
      checkSquare(self, withVectors ? 'linalg.eig' : 'linalg.eigvals');
      checkFloating(self, 'linalg.eig', true);
      const dtype = complexType(self.dtype);
      const values: TensorMeta = { sizes: self.sizes.slice(0, -1), dtype };
      return withVectors ? [values, { sizes: self.sizes, dtype }] : values;
    },
    *host({ self }, [values, vectors]) {
      const elements = yield* readParts(self);
      check(
        elements.re.every(Number.isFinite) && elements.im.every(Number.isFinite),
        'torch.linalg.eig: input tensor should not contain infs or NaNs.',
      );
      const results = yield* mapped(yield* readMatrices(self), (matrix) => eigen(matrix, !isComplex(self.dtype)));
      yield* writeMatrices(
        values,
        results.map((each) => each.values),
      );
      if (withVectors)
        yield* writeMatrices(
          vectors,
          results.map((each) => each.vectors),
        );
    },
  });
}

export const decompositionRows: readonly OperatorRow[] = [
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
