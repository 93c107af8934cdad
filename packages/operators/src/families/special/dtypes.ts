import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { castable, each } from '../../dispatch/writable-dtypes.ts';

/** Functions of `torch.special` whose kernels have their names. */
function named(functions: string, classes: string): [string, string, string][] {
  return functions.split(' ').map((name) => [`${name}_cpu`, classes, `special_${name}`]);
}

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const specialDtypes: DtypeLimits = {
  refused: [
    ['airy_ai_cpu', 'hcb', 'special_airy_ai'],
    ['arange_cpu', 'c', 'mvlgamma'],
    ['erf_vml_cpu', 'c', 'special_ndtr'],
    ['i0_vml_cpu', 'c', 'i0'],
    ['igamma_cpu', 'it', 'igamma'],
    ['igammac_cpu', 'it', 'igammac'],
    ...named('entr i0e i1 i1e', 'c'),
    ...named('bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx log_ndtr ndtri spherical_bessel_j0 zeta', 'hcb'),
    ...named('modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1', 'hcb'),
    ...named('scaled_modified_bessel_k0 scaled_modified_bessel_k1', 'hcb'),
    ...named('hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p', 'hcb'),
    ...[...'tuvw'].flatMap((kind) => named(`chebyshev_polynomial_${kind} shifted_chebyshev_polynomial_${kind}`, 'hcb')),
    ['The input tensor may not be a boolean tensor.', 't', 'mvlgamma'],
  ],
  written: [
    ...each(
      'mvlgamma special_multigammaln',
      castable("mvlgamma: result type {want} can't be cast to the desired output type {want}"),
    ),
    ...each('mvlgamma_', {
      ...castable("mvlgamma: result type {got} can't be cast to the desired output type {want}"),
      isFirst: true,
    }),
  ],
};
