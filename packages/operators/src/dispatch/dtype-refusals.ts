import { isComplex, isIntegral, promoteTypes, Tensor, type ScalarType } from '@cresset/tensor';
import { boxingOf } from '../table/boxing.ts';
import { notImplementedFor, OperatorError } from '../kernels/errors.ts';
import type { OperatorRow, Unboxed } from '../table/row.ts';
import { dtypeName } from '../kernels/type-promotion.ts';

/**
 * Dtypes that PyTorch's kernels for the processor refuse although the values would be clear: `i` integers, `j` those with a sign, `t` bool, `h` float16, `b` bfloat16,
 * `c` complex. What is said is a kernel's name, for "not implemented", or a sentence where `{D}` stands for the dtype.
 */
const refused: readonly (readonly [said: string, classes: string, operators: string])[] = [
  ['abs_cpu', 't', 'abs'],
  ['aminmax_cpu', 'c', 'aminmax'],
  ['airy_ai_cpu', 'hcb', 'special_airy_ai'],
  ['arange_cpu', 'c', 'mvlgamma'],
  ['avg_pool3d_out_frame', 'hb', 'avg_pool3d'],
  ['bernoulli_tensor_cpu_p_', 'it', 'bernoulli'],
  ['bernoulli_tensor_cpu_self_', 'c', 'bernoulli'],
  ['binary_cross_entropy', 'itc', 'binary_cross_entropy'],
  ['bmm', 't', 'bmm'],
  ['baddbmm', 't', 'baddbmm'],
  ['cdist', 'hb', 'cdist _cdist_forward'],
  ['check_uniform_bounds', 'it', 'rand_like fractional_max_pool2d fractional_max_pool3d'],
  ['cholesky_cpu', 'ihtb', 'cholesky'],
  ['cholesky_cpu', 'hb', 'linalg_cholesky linalg_cholesky_ex'],
  ['cholesky_inverse_out_cpu', 'ihtb', 'cholesky_inverse'],
  ['cholesky_solve_cpu', 'ihtb', 'cholesky_solve'],
  ['compute_indices_weights_cubic', 'jtc', 'upsample_bicubic2d'],
  ['compute_indices_weights_linear', 'jtc', 'upsample_linear1d upsample_trilinear3d'],
  [
    'compute_indices_weights_nearest',
    'jtc',
    'upsample_nearest1d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact3d',
  ],
  ['cross', 't', 'cross linalg_cross'],
  ['digamma', 'c', 'digamma'],
  ['dot', 't', 'dot vdot'],
  ['erf_vml_cpu', 'c', 'erf special_ndtr'],
  ['erfc_vml_cpu', 'c', 'erfc'],
  ['erfinv_vml_cpu', 'c', 'erfinv'],
  ['geometric_cpu', 'tc', 'geometric_'],
  ['geqrf_cpu', 'ihtb', 'geqrf'],
  ['geqrf_cpu', 'hb', 'qr linalg_qr'],
  ['grid_sampler_2d_cpu_kernel_impl', 'itc', 'grid_sampler_2d grid_sampler'],
  ['grid_sampler3d_cpu', 'itc', 'grid_sampler_3d'],
  ['histogram_cpu', 'i', 'histc'],
  ['linspace_cpu', 't', 'histc'],
  ['huber_cpu', 'itc', 'huber_loss'],
  ['i0_vml_cpu', 'c', 'i0'],
  ['igamma_cpu', 'it', 'igamma'],
  ['igammac_cpu', 'it', 'igammac'],
  ['index_func_', 'tc', 'index_reduce'],
  ['kthvalue_cpu', 'tc', 'kthvalue'],
  ['ldl_factor_kernel_cpu', 'hb', 'linalg_ldl_factor linalg_ldl_factor_ex'],
  ['ldl_solve_kernel_cpu', 'hb', 'linalg_ldl_solve'],
  ['lerp_kernel_scalar', 'it', 'lerp'],
  ['lgamma_vml_cpu', 'c', 'lgamma'],
  ['linalg.lu_solve_cpu', 'hb', 'linalg_lu_solve lu_solve'],
  ['linalg_eig_out_cpu', 'hb', 'linalg_eig linalg_eigvals'],
  ['linalg_eigh_cpu', 'ihtb', 'linalg_eigh linalg_eigvalsh'],
  ['linalg_svd_cpu', 'hb', 'linalg_cond linalg_svdvals linalg_svd svd'],
  ['logaddexp_cpu', 'it', 'logaddexp'],
  ['logaddexp2_cpu', 'it', 'logaddexp2'],
  ['logcumsumexp_out_cpu', 'it', 'logcumsumexp'],
  ['lu_cpu', 'ihtb', '_lu_with_info linalg_lu linalg_lu_factor linalg_lu_factor_ex'],
  ['lu_cpu', 'hb', 'linalg_solve linalg_solve_ex linalg_det'],
  ['max_all', 'c', 'max'],
  ['max_unpool2d', 'itc', 'max_unpool2d'],
  ['max_unpool3d', 'itc', 'max_unpool3d'],
  ['max_values_cpu', 'c', 'amax'],
  ['maximum_cpu', 'c', 'clamp_min.Tensor'],
  ['median_cpu', 'tc', 'median nanmedian'],
  ['min_all', 'c', 'min'],
  ['min_values_cpu', 'c', 'amin'],
  ['minimum_cpu', 'c', 'clamp_max.Tensor'],
  ['mode_cpu', 'c', 'mode'],
  ['mse_cpu', 'itc', 'mse_loss'],
  ['multi_margin_loss_cpu_kernel', 'ihtcb', 'multi_margin_loss'],
  ['multilabel_margin_loss_forward_out_frame', 'ihtcb', 'multilabel_margin_loss'],
  ['normal_kernel_cpu', 'it', 'normal randn_like'],
  ['orgqr_cpu', 'ihtb', 'linalg_householder_product orgqr'],
  ['ormqr_cpu', 'htb', 'ormqr'],
  ['polar_cpu', 'h', 'polar'],
  ['rms_norm', 'it', 'rms_norm'],
  ['round_vml_cpu', 'c', 'round.'],
  ['rrelu_with_noise_out_cpu', 'ihtc', 'rrelu'],
  ['searchsorted_out_cpu', 'tc', 'bucketize'],
  ['slow_conv3d_cpu', 't', 'conv3d'],
  ['slow_conv_transpose2d_out_cpu', 't', 'conv_transpose1d conv_transpose2d'],
  ['slow_conv_transpose3d_out_cpu', 't', 'conv_transpose3d'],
  ['smooth_l1_cpu', 'itc', 'smooth_l1_loss'],
  ['softmax_backward_lastdim_kernel_impl', 'itc', '_softmax_backward_data'],
  ['softmax_lastdim_kernel_impl', 'c', 'scaled_dot_product_attention'],
  ['softshrink_check', 'itc', 'softshrink'],
  ['threshold_cpu', 't', 'threshold'],
  ['trace', 't', 'trace'],
  ['triangular_solve_cpu', 'ihtb', 'triangular_solve linalg_solve_triangular'],
  ['unique', 'c', '_unique _unique2 unique_dim unique_consecutive'],
  ...named('entr i0e i1 i1e xlog1py', 'c'),
  ...named('bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx log_ndtr ndtri spherical_bessel_j0 zeta', 'hcb'),
  ...named('modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1', 'hcb'),
  ...named('scaled_modified_bessel_k0 scaled_modified_bessel_k1', 'hcb'),
  ...named('hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p', 'hcb'),
  ...[...'tuvw'].flatMap((kind) => named(`chebyshev_polynomial_${kind} shifted_chebyshev_polynomial_${kind}`, 'hcb')),
  [
    "This function doesn't handle types other than float and double",
    'ihtb',
    'linalg_lstsq linalg_matrix_rank linalg_pinv.atol_rtol_float',
  ],
  ['The input tensor may not be a boolean tensor.', 't', 'mvlgamma'],
  ['clamp is not supported for complex types', 'c', 'hardtanh relu relu6'],
  ['Expected both inputs to be Half, Float or Double tensors but got {D} and {D}', 'b', 'complex'],
  ['Expected both inputs to be Half, Float or Double tensors but got {D} and {D}', 'itcb', 'polar'],
  ['Only supports floating-point dtypes, but found: {D}', 'c', 'fft_ihfft2 fft_ihfftn'],
  ['Unknown Complex ScalarType for {D}', 'it', 'linalg_eig linalg_eigvals'],
  ['maximum not implemented for complex tensors.', 'c', 'maximum'],
  ['minimum not implemented for complex tensors.', 'c', 'minimum'],
  ['nansum on CPU does not support complex inputs', 'c', 'nanmean nansum'],
  ['std_mean only support floating point and complex dtypes', 'it', 'std_mean'],
  ['var_mean only support floating point and complex dtypes', 'it', 'var_mean'],
  ['argmax(): does not support bool input', 't', 'argmax'],
  ['argmax(): does not support complex input', 'c', 'argmax'],
  ['argmin(): does not support bool input', 't', 'argmin'],
  ['argmin(): does not support complex input', 'c', 'argmin'],
  ['ceil is not supported for complex inputs', 'c', 'ceil'],
  ['deg2rad is not supported for complex tensors.', 'c', 'deg2rad'],
  [
    'Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified {D}',
    'itc',
    'exponential_',
  ],
  ['rfftn expects a real-valued input tensor, but got {D}', 'c', 'fft_rfft2 fft_rfftn'],
  ['floor is not supported for complex inputs', 'c', 'floor'],
  ['fmax not implemented for complex tensors.', 'c', 'fmax'],
  ['fmin not implemented for complex tensors.', 'c', 'fmin'],
  ['heaviside is not yet implemented for complex tensors.', 'c', 'heaviside'],
  ['Unsupported input type encountered for isin(): {D}', 'tc', 'isin'],
  ['isneginf does not support complex inputs.', 'c', 'isneginf'],
  ['isposinf does not support complex inputs.', 'c', 'isposinf'],
  ['linalg.svd: Expected a floating point or complex tensor as input. Got {D}', 'it', 'linalg_cond'],
  ['linalg.inv: Expected a floating point or complex tensor as input. Got {D}', 'it', 'linalg_tensorinv'],
  ['linalg.inv: Low precision dtypes not supported. Got {D}', 'hb', 'linalg_tensorinv'],
  ['linalg.solve: Expected a floating point or complex tensor as input. Got {D}', 'it', 'linalg_tensorsolve'],
  ['linalg.vander supports floating point, complex, and integer tensors, but got {D}', 'htb', 'linalg_vander'],
  ['linalg.vecdot: Expected a floating point or complex tensor as input. Got {D}', 'it', 'linalg_vecdot'],
  ['max(): does not support complex input', 'c', 'max.dim'],
  ['min(): does not support complex input', 'c', 'min.dim'],
  ['nanmean(): expected input to have floating point or complex dtype but got {D}', 'it', 'nanmean'],
  ['kl_div: Integral inputs not supported.', 'it', 'kl_div'],
  ['kl_div: Complex inputs not supported.', 'c', 'kl_div'],
  ['pdist only supports floating-point dtypes', 'itc', 'pdist'],
  ['{D} inputs not supported for hardtanh', 't', 'relu6 hardtanh'],
  ['normal expects standard deviation to be non-complex', 'c', 'normal'],
  ['The `+` operator, on a bool tensor is not supported.', 't', 'positive'],
  ['rad2deg is not supported for complex tensors.', 'c', 'rad2deg'],
  ['check_random_bounds handles only integral, floating-point and boolean types', 'c', 'randint_like'],
  ['linalg.vector_norm: Expected a floating point or complex tensor as input. Got {D}', 'it', 'renorm'],
  ['Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.', 'c', 'sign'],
  ['signbit is not implemented for complex tensors.', 'c', 'signbit'],
  ["MKL FFT doesn't support tensors of type: {D}", 'hb', 'stft'],
  ['topk does not support bool dtypes on CPU', 't', 'topk'],
  [' topk does not support complex dtypes on CPU', 'c', 'topk'],
  ['trunc is not supported for complex inputs', 'c', 'trunc'],
  [
    'view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {D}',
    'itcb',
    'view_as_complex',
  ],
];

/** Functions of `torch.special` whose kernels have their names. */
function named(functions: string, classes: string): [string, string, string][] {
  return functions.split(' ').map((name) => [`${name}_cpu`, classes, `special_${name}`]);
}

const byOperator = new Map<string, (readonly [said: string, classes: string])[]>();
for (const [said, classes, operators] of refused) {
  for (const operator of operators.split(' ')) {
    const known = byOperator.get(operator);
    if (known) known.push([said, classes]);
    else byOperator.set(operator, [[said, classes]]);
  }
}

/** The classes that a dtype is in; float32 and float64 are in none. */
function classesOf(dtype: ScalarType): string {
  if (isComplex(dtype)) return 'c';
  if (dtype === 'bool') return 't';
  if (isIntegral(dtype, false)) return dtype === 'uint8' ? 'i' : 'ij';
  return dtype === 'float16' ? 'h' : dtype === 'bfloat16' ? 'b' : '';
}

/** What PyTorch says of an operator's first tensor of this dtype; null where it takes it. */
export function refusalOf(row: OperatorRow, dtype: ScalarType): OperatorError | null {
  const { name, overload } = boxingOf(row.derived?.from ?? row).signature;
  const own = name.slice('aten::'.length);
  const entries = byOperator.get(`${own}.${overload}`) ?? byOperator.get(own);
  const entry = entries?.find(([, classes]) => [...classesOf(dtype)].some((each) => classes.includes(each)));
  if (!entry) return null;
  const [said] = entry;
  if (!said.includes(' ')) return notImplementedFor(said, dtypeName(dtype));
  return new OperatorError(said.replaceAll('{D}', dtypeName(dtype)));
}

/** Throws where PyTorch refuses the dtype that an operator would compute in. */
export function checkReadable(row: OperatorRow, args: Record<string, Unboxed>): void {
  const source = row.derived?.from ?? row;
  const tensors = Object.values(args).filter((value) => value instanceof Tensor);
  if (tensors.length === 0) return;
  const [first, ...others] = tensors.map(({ dtype }) => dtype);
  const error = refusalOf(row, source.pointwise ? others.reduce(promoteTypes, first) : first);
  if (error) throw error;
}
