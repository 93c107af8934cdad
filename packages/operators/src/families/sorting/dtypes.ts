import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { each, same } from '../../dispatch/writable-dtypes.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const sortingDtypes: DtypeLimits = {
  refused: [
    ['histogram_cpu', 'i', 'histc'],
    ['linspace_cpu', 't', 'histc'],
    ['kthvalue_cpu', 'tc', 'kthvalue', 'with lines'],
    ['median_cpu', 'tc', 'median nanmedian', 'with elements'],
    ['median_out', 'tc', 'median.dim nanmedian.dim'],
    ['mode_cpu', 'c', 'mode', 'with lines'],
    ['searchsorted_out_cpu', 'tc', 'bucketize.Tensor searchsorted.Tensor', 'with elements'],
    ['searchsorted_out_cpu', 'c', 'bucketize.Scalar searchsorted.Scalar', 'with elements'],
    ['unique', 'c', '_unique _unique2 unique_consecutive'],
    ['unique_dim', 'c', 'unique_dim unique_dim_consecutive'],
    ['Unsupported input type encountered for isin(): {D}', 'tc', 'isin', 'after sizes'],
    ['topk does not support bool dtypes on CPU', 't', 'topk', 'after sizes'],
    [' topk does not support complex dtypes on CPU', 'c', 'topk', 'after sizes'],
  ],
  written: [
    ...each('quantile nanquantile', same('quantile() out tensor must be same dtype as the input tensor')),
    ...each(
      'histc',
      same(
        'torch.histogram: input tensor and hist tensor should have the same dtype, but got input {Want} and hist {Got}',
      ),
    ),
    ...each(
      'bucketize searchsorted',
      same(
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {got}",
      ),
    ),
  ],
};
