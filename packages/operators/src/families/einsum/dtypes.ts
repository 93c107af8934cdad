import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { each, same } from '../../dispatch/writable-dtypes.ts';

const contraction = same(
  'tensordot: Expected the output tensor to have dtype {want}, but got an output tensor with dtype {got}',
);

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const einsumDtypes: DtypeLimits = {
  written: [...each('inner tensordot', contraction)],
};
