import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { each, scalarType, unary } from '../../dispatch/writable-dtypes.ts';

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const lossesDtypes: DtypeLimits = {
  refused: [
    ['binary_cross_entropy', 'itc', 'binary_cross_entropy'],
    ['huber_cpu', 'itc', 'huber_loss'],
    ['mse_cpu', 'itc', 'mse_loss'],
    ['multi_margin_loss_cpu_kernel', 'ihtcb', 'multi_margin_loss'],
    ['multilabel_margin_loss_forward_out_frame', 'ihtcb', 'multilabel_margin_loss'],
    ['smooth_l1_cpu', 'itc', 'smooth_l1_loss'],
    ['kl_div: Integral inputs not supported.', 'it', 'kl_div'],
    ['kl_div: Complex inputs not supported.', 'c', 'kl_div'],
  ],
  written: [...each('binary_cross_entropy soft_margin_loss', unary), ...each('multilabel_margin_loss', scalarType)],
};
