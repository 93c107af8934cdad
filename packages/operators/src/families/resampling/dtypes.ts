import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const resamplingDtypes: DtypeLimits = {
  refused: [
    ['compute_indices_weights_cubic', 'jtc', 'upsample_bicubic2d'],
    ['compute_indices_weights_linear', 'jtc', 'upsample_linear1d upsample_trilinear3d'],
    [
      'compute_indices_weights_nearest',
      'jtc',
      'upsample_nearest1d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact3d',
    ],
    ['grid_sampler_2d_cpu_kernel_impl', 'itc', 'grid_sampler_2d grid_sampler'],
    ['grid_sampler3d_cpu', 'itc', 'grid_sampler_3d'],
  ],
};
