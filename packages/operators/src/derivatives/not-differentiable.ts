/** Operators that give numbers nobody can take the slope of: their results require no gradient. */
const flat: ReadonlySet<string> = new Set(
  `_cast_Long _shape_as_tensor allclose argmax argmin argsort arange bernoulli bincount bucketize count_nonzero data detach empty_like
  full_like histc isclose isfinite isinf isnan isneginf isposinf isreal item logspace multinomial new_empty new_empty_strided new_full new_ones
  new_zeros normal ones_like rand_like randn_like range searchsorted signbit tensor zeros_like zero_like
  special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1
  special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0
  special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
  special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p
  special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
  special_shifted_chebyshev_polynomial_w requires_grad_ equal is_nonzero grad _to_cpu`.split(/\s+/),
);

/** @param name as in a schema, `aten::zeros_like` */
export const isNotDifferentiable = (name: string): boolean => flat.has(plain(name));

/** Operators that PyTorch has no derivatives of, by what its error calls them. */
const underived: Readonly<Record<string, string>> = {
  geqrf: "the derivative for 'geqrf'",
  histogram: 'derivative for aten::histogram',
  histogramdd: 'derivative for aten::_histogramdd_from_bin_cts',
  floor_divide: 'derivative for aten::floor_divide',
  heaviside: 'derivative for aten::heaviside',
  randint_like: 'derivative for aten::randint_like',
  linalg_ldl_factor: 'derivative for aten::linalg_ldl_factor_ex',
  linalg_ldl_factor_ex: 'derivative for aten::linalg_ldl_factor_ex',
  linalg_ldl_solve: 'derivative for aten::linalg_ldl_solve',
  _unique: "the derivative for '_unique'",
  _unique2: "the derivative for '_unique2'",
  unique_dim: "the derivative for 'unique_dim'",
  unique_consecutive: "the derivative for 'unique_consecutive'",
  unique_dim_consecutive: "the derivative for 'unique_dim_consecutive'",
  embedding_renorm_: "the derivative for 'embedding_renorm'",
};

/** PyTorch's error where a gradient is asked through an operator that has no derivative. */
export function notImplementedMessage(name: string, overload = ''): string {
  const [namespace, operator] = name.split('::');
  if (operator !== undefined && !/^(?:aten|prims?|torchvision|quantized)$/.test(namespace)) {
    return `Trying to backward through ${namespace}.${operator}.${overload || 'default'} but no autograd formula was registered. Please use register_autograd to add one.`;
  }
  const known = underived[plain(name)];
  if (known === undefined) return `derivative for ${name} is not implemented`;
  return `${known} is not implemented${known.startsWith('the') ? '.' : ''}`;
}

/** Whether an error says that PyTorch has no derivative, of an operator or by one of its arguments, as against one that is missing here. */
export const isPyTorchsRefusal = (message: string): boolean =>
  /the derivative for '|is not differentiable with respect to argument|cannot resize variables that require grad|does not support automatic differentiation for outputs with complex dtype/.test(
    message,
  ) || Object.keys(underived).some((name) => message.includes(notImplementedMessage(name)));

/** Arguments that may not require a gradient (check_no_requires_grad), behind the function that PyTorch's error names. */
const withoutSlope: Readonly<Record<string, string>> = {
  binary_cross_entropy: 'binary_cross_entropy weight',
  binary_cross_entropy_with_logits: 'binary_cross_entropy_with_logits weight pos_weight',
  nll_loss: 'nll_loss_forward weight',
  nll_loss_nd: 'nll_loss_forward weight',
  nll_loss_forward: 'nll_loss_forward weight',
  nll_loss2d: 'nll_loss2d_forward weight',
  nll_loss2d_forward: 'nll_loss2d_forward weight',
  multi_margin_loss: 'multi_margin_loss weight',
  soft_margin_loss: 'soft_margin_loss target',
  batch_norm: 'native_batch_norm running_mean running_var',
  instance_norm: 'native_batch_norm running_mean running_var',
  native_batch_norm: 'native_batch_norm running_mean running_var',
  _native_batch_norm_legit: '_native_batch_norm_legit running_mean running_var',
  _native_batch_norm_legit_no_training: '_native_batch_norm_legit_no_training running_mean running_var',
  _batch_norm_with_update: '_batch_norm_with_update running_mean running_var',
  fractional_max_pool2d: 'fractional_max_pool2d random_samples',
  fractional_max_pool3d: 'fractional_max_pool3d random_samples',
  linalg_pinv: 'linalg_pinv atol rtol',
  rrelu_with_noise: 'rrelu_with_noise noise',
  _grouped_mm: '_grouped_mm bias',
};

/** Operators whose derivatives are those of real numbers alone. */
const ofRealNumbers: ReadonlySet<string> = new Set(['geqrf', 'scatter_reduce', 'silu']);

/** PyTorch's error where such an operator gives complex numbers and a gradient is wanted of them (throw_error_for_complex_autograd); null for others. */
export function complexRefusal(name: string): string | null {
  const operator = plain(name);
  if (!ofRealNumbers.has(operator)) return null;
  return `${operator} does not support automatic differentiation for outputs with complex dtype.`;
}

/** The arguments of an operator that may not require a gradient, by name, each with PyTorch's error. */
export function argumentsWithoutSlope(name: string): ReadonlyMap<string, string> {
  const [fn, ...args] = withoutSlope[plain(name)]?.split(' ') ?? [];
  const error = (argument: string): string =>
    `The function '${fn}' is not differentiable with respect to argument '${argument}'. This input cannot have requires_grad True.`;
  return new Map(args.map((argument) => [argument, error(argument)]));
}

const plain = (name: string): string => name.replace(/^\w+::/, '');
