import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import {
  anything,
  castable,
  each,
  product,
  same,
  scalarType,
  type WritingRule,
} from '../../dispatch/writable-dtypes.ts';

const safely = (name: string, argument = 'result'): WritingRule =>
  castable(
    `${name}: Expected ${argument} to be safely castable from {want} dtype, but got ${argument} with dtype {got}`,
  );
const normed = (name: string): WritingRule => same(`linalg.${name} expected out tensor dtype {want} but got: {got}`);

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const linalgDtypes: DtypeLimits = {
  refused: [
    ['cholesky_cpu', 'ihtb', 'cholesky', 'with elements'],
    ['cholesky_cpu', 'hb', 'linalg_cholesky linalg_cholesky_ex', 'with elements'],
    ['cholesky_inverse_out_cpu', 'ihtb', 'cholesky_inverse'],
    ['dot', 't', 'vdot'],
    ['cholesky_solve_cpu', 'ihtb', 'cholesky_solve'],
    ['geqrf_cpu', 'ihtb', 'geqrf'],
    ['geqrf_cpu', 'hb', 'qr linalg_qr'],
    ['ldl_factor_kernel_cpu', 'hb', 'linalg_ldl_factor linalg_ldl_factor_ex', 'with elements'],
    ['ldl_solve_kernel_cpu', 'hb', 'linalg_ldl_solve', 'with elements'],
    ['linalg.lu_solve_cpu', 'hb', 'linalg_lu_solve lu_solve', 'with elements'],
    ['linalg_eig_out_cpu', 'hb', 'linalg_eig linalg_eigvals'],
    ['linalg_eigh_cpu', 'ihtb', 'linalg_eigh linalg_eigvalsh _linalg_eigh', 'with elements'],
    ['linalg_svd_cpu', 'hb', 'linalg_cond linalg_svdvals linalg_svd svd _linalg_svd', 'with elements'],
    ['orgqr_cpu', 'ihtb', 'linalg_householder_product orgqr'],
    ['ormqr_cpu', 'ihtb', 'ormqr'],
    ['triangular_solve_cpu', 'ihtb', 'triangular_solve linalg_solve_triangular'],
    ['lu_cpu', 'ihtb', '_lu_with_info linalg_lu linalg_lu_factor linalg_lu_factor_ex', 'with elements'],
    ['lu_cpu', 'hb', 'linalg_solve linalg_solve_ex linalg_tensorsolve linalg_det det', 'with elements'],
    ['Unknown Complex ScalarType for {D}', 'it', 'linalg_eig linalg_eigvals'],
    [
      'linalg.inv: Expected a floating point or complex tensor as input. Got {D}',
      'it',
      'linalg_tensorinv',
      'after sizes',
    ],
    ['linalg.inv: Low precision dtypes not supported. Got {D}', 'hb', 'linalg_tensorinv', 'after sizes'],
    [
      'linalg.solve: Expected a floating point or complex tensor as input. Got {D}',
      'it',
      'linalg_tensorsolve',
      'after sizes',
    ],
    ['linalg.vecdot: Expected a floating point or complex tensor as input. Got {D}', 'it', 'linalg_vecdot'],
  ],
  written: [
    ...each('linalg_matrix_rank', anything),
    ...each('vdot', product),
    ...each('linalg_solve_triangular', scalarType),
    ...each('linalg_matrix_norm nuclear_norm', normed('matrix_norm')),
    ...each('linalg_norm', normed('norm')),
    ...each('linalg_pinv', safely('linalg.pinv')),
    ...each('linalg_cond', safely('linalg.cond')),
    ...each('linalg_eigvals', safely('torch.linalg.eigvals', 'eigenvalues')),
    ...each('linalg_householder_product orgqr', safely('torch.linalg.householder_product')),
    ...each('linalg_matrix_power matrix_power', safely('matrix_power')),
    ...each('linalg_tensorinv', safely('tensorinv')),
    ...each('linalg_tensorsolve', safely('tensorsolve')),
    ...each('cholesky cholesky_solve cholesky_inverse', safely),
    ...each('linalg_multi_dot', same('multi_dot(): expected out tensor to have dtype {Want} but got {Got}')),
    ...each('linalg_vecdot', same('linalg.vecdot: Expected out of dtype{want} but found {got}')),
    ...each(
      'ormqr',
      same(
        'torch.ormqr: Expected input and result to have the same dtype, but input has dtype{want} and result has dtype {got}',
      ),
    ),
  ],
};
