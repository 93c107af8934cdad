import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { castable, concatenation, each, same } from '../../dispatch/writable-dtypes.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const layoutsDtypes: DtypeLimits = {
  written: [
    ...each('_chunk_cat', concatenation),
    ...each('diag', castable("diag: result type {want} can't be cast to the desired out= type {got}")),
    ...each('narrow_copy', same('Expected self.dtype() == output.dtype() to be true, but got false.')),
    ...each(
      'take',
      same('take(): self and out expected to have the same dtype, but got self.dtype = {want} and out.dtype = {got}'),
    ),
  ],
};
