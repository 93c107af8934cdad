import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const layersDtypes: DtypeLimits = {
  refused: [
    ['check_uniform_bounds', 'it', 'fractional_max_pool2d fractional_max_pool3d'],
    ['max_unpool2d', 'itc', 'max_unpool2d'],
    ['max_unpool3d', 'itc', 'max_unpool3d'],
  ],
};
