import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** The largest of each window, which of integers is the same as of numbers. */
export const quantizedPoolingRows: readonly OperatorRow[] = [1, 2].map((rank) =>
  decomposed(
    `quantized::max_pool${rank}d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor`,
    `
def max_pool${rank}d(qx: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int],
                     ceil_mode: bool) -> Tensor:
    return torch.max_pool${rank}d(qx, kernel_size, stride, padding, dilation, ceil_mode)
`,
  ),
);
