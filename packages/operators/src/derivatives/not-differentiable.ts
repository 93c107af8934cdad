/** Operators that give numbers nobody can take the slope of: their results require no gradient. */
const names: ReadonlySet<string> = new Set(
  `_cast_Long _shape_as_tensor allclose argmax argmin argsort arange bernoulli bincount bucketize count_nonzero data detach empty_like
  full_like histc isclose isfinite isinf isnan isneginf isposinf isreal item logspace multinomial new_empty new_empty_strided new_full new_ones
  new_zeros nextafter normal ones_like poisson rand_like randint_like randn_like range searchsorted signbit tensor zeros_like zero_like
  special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1
  special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0
  requires_grad_ equal is_nonzero grad _to_cpu`.split(/\s+/),
);

/** @param name as in a schema, `aten::zeros_like` */
export const isNotDifferentiable = (name: string): boolean => names.has(name.slice(name.indexOf('::') + 2));
