import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const scatterDtypes: DtypeLimits = {
  refused: [['index_func_', 'tc', 'index_reduce']],
};
