/** Why operators without a lowering are left to the host, for the page of documentation: a reason and the names it is true of. */
export const hostReasons: readonly (readonly [reason: string, names: string])[] = [
  [
    'The result is a number, or sizes hang on it: a program waits for it in any case.',
    'Bool Complex ComplexImplicit Float FloatImplicit Int IntImplicit ScalarImplicit _local_scalar_dense is_nonzero item allclose ' +
      'narrow tensor_split randint_like _linalg_check_errors',
  ],
  [
    'Matrices are factored and solved in double precision, each step depending on the one before.',
    '_linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_solve_ex _linalg_svd _lu_with_info cholesky cholesky_inverse ' +
      'cholesky_solve det geqrf inverse linalg_cholesky linalg_cholesky_ex linalg_cond linalg_det linalg_eig linalg_eigh linalg_eigvals ' +
      'linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve ' +
      'linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_matrix_norm linalg_matrix_power ' +
      'linalg_matrix_rank linalg_norm linalg_pinv linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd ' +
      'linalg_svdvals linalg_tensorinv linalg_tensorsolve logdet lu_solve lu_unpack matrix_exp matrix_power nuclear_norm orgqr ormqr ' +
      'pinverse qr slogdet svd triangular_solve',
  ],
  [
    'A function whose series or recurrence single precision does not carry, or whose number of steps the elements decide.',
    'frexp gcd i0 igamma igammac lcm polygamma polygamma_ special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 ' +
      'special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v ' +
      'special_chebyshev_polynomial_w special_erfcx special_gammainc special_gammaincc special_hermite_polynomial_h ' +
      'special_hermite_polynomial_he special_i0 special_i0e special_i1 special_i1e special_laguerre_polynomial_l ' +
      'special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 ' +
      'special_modified_bessel_k1 special_ndtri special_polygamma special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 ' +
      'special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v ' +
      'special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_zeta',
  ],
  [
    'How many random numbers are drawn hangs on those drawn before.',
    'fractional_max_pool2d fractional_max_pool3d multinomial binomial poisson',
  ],
  ['Numbers are told apart in double precision at the edges of bins.', 'histc histogram histogramdd'],
  ['Which of equal elements is named hangs on the steps in which PyTorch sorts them, one after the other.', 'mode'],
  [
    'Elements are written by the strides of memory that they may share, in order.',
    '_reshape_alias_copy as_strided_scatter copy_',
  ],
  ['What a storage holds goes along where it grows.', 'resize_ resize_as_'],
  [
    'Integers with a scale are kept on the host only.',
    '_choose_qparams_per_tensor _empty_affine_quantized _empty_per_channel_affine_quantized _make_per_channel_quantized_tensor ' +
      '_make_per_tensor_quantized_tensor dequantize int_repr q_per_channel_scales q_per_channel_zero_points quantize_per_channel ' +
      'quantize_per_tensor quantize_per_tensor_dynamic quantized_gru quantized_lstm',
  ],
  [
    'Seen in training only, or in no published model.',
    '_no_grad_embedding_renorm_ _segment_reduce_backward ctc_loss embedding_renorm_ multi_margin_loss multilabel_margin_loss ' +
      'multilabel_margin_loss_forward _pdist_forward pdist segment_reduce',
  ],
];
