import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const layersDtypes: DtypeLimits = {
  refused: [
    ['check_uniform_bounds', 'it', 'fractional_max_pool2d fractional_max_pool3d'],
    ['max_unpool2d', 'itc', 'max_unpool2d'],
    ['max_unpool3d', 'itc', 'max_unpool3d'],
    ['rrelu_with_noise_out_cpu', 'ihtc', 'rrelu'],
    ['softmax_backward_lastdim_kernel_impl', 'itc', '_softmax_backward_data'],
    ['linalg.vector_norm: Expected a floating point or complex tensor as input. Got {D}', 'it', 'renorm'],
  ],
};
