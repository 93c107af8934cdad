import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { each, scalarType, unary } from '../../dispatch/writable-dtypes.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const lossesDtypes: DtypeLimits = {
  refused: [
    ['multi_margin_loss_cpu_kernel', 'ihtcb', 'multi_margin_loss', 'with elements'],
    ['multilabel_margin_loss_forward_out_frame', 'ihtcb', 'multilabel_margin_loss'],
  ],
  written: [...each('binary_cross_entropy soft_margin_loss', unary), ...each('multilabel_margin_loss', scalarType)],
};
