import type { DerivativeTable } from './derivative.ts';

/** Resizing is a product with a matrix along each dimension, which is a band. */
function resized(name: string, rank: number): DerivativeTable {
  const align = /nearest/.test(name) ? 'False' : 'align_corners';
  const scales = rank === 1 ? 'scales' : ['scales_d', 'scales_h', 'scales_w'].slice(-rank).join(', ');
  return {
    [`${name}`]: { self: `resize_slope(grad, self.size(), "${name}", ${align}, [${scales}])` },
    [`${name}.vec`]: {
      input: `resize_slope(grad, input.size(), "${name}", ${align}, given_scales(scale_factors, ${rank}))`,
    },
  };
}

const sampled = { '=': 'grid_samples(input, grid, interpolation_mode, padding_mode, align_corners)' };

/** Resizing, and reading between the points of a grid. */
export const resamplingDerivatives: DerivativeTable = {
  ...resized('upsample_nearest1d', 1),
  ...resized('upsample_nearest2d', 2),
  ...resized('upsample_nearest3d', 3),
  ...resized('_upsample_nearest_exact1d', 1),
  ...resized('_upsample_nearest_exact2d', 2),
  ...resized('_upsample_nearest_exact3d', 3),
  ...resized('upsample_linear1d', 1),
  ...resized('upsample_bilinear2d', 2),
  ...resized('upsample_trilinear3d', 3),
  ...resized('upsample_bicubic2d', 2),
  ...resized('_upsample_bilinear2d_aa', 2),
  ...resized('_upsample_bicubic2d_aa', 2),
  ...resized('_upsample_lanczos2d_aa', 2),
  grid_sampler: sampled,
  grid_sampler_2d: sampled,
  grid_sampler_3d: sampled,
};
