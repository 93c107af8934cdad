import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/**
 * Layers of `torch.utils.mkldnn.to_mkldnn` (ATen/native/mkldnn). Layouts of oneDNN are plain tensors here: to convert to one is to copy, and no
 * tensor says that it is one.
 */

/** Codes of float32, bfloat16, float16, uint8 and int8. */
const KNOWN_DTYPES = '[6, 15, 5, 0, 1]';

const reorder = (rank: number): OperatorRow => {
  const all = (value: number): string => `[${new Array(rank).fill(value).join(', ')}]`;
  const defaults = [`padding=${all(0)}`, `stride=${all(1)}`, `dilation=${all(1)}`];
  const sizes = defaults.map((each) => `SymInt[${rank}] ${each}`).join(', ');
  const name = `mkldnn_reorder_conv${rank}d_weight`;
  return decomposed(
    `aten::${name}(Tensor self, ${sizes}, SymInt groups=1, SymInt[]? input_size=None) -> Tensor`,
    `
def ${name}(self: Tensor, padding: List[int], stride: List[int], dilation: List[int], groups: int, input_size: Optional[List[int]]) -> Tensor:
    return torch.clone(self, memory_format=0)
`,
  );
};

const maxPool = (rank: number): OperatorRow =>
  decomposed(
    `aten::mkldnn_max_pool${rank}d(Tensor self, int[${rank}] kernel_size, int[${rank}] stride=[], int[${rank}] padding=0, int[${rank}] dilation=1, bool ceil_mode=False) -> Tensor`,
    `
def mkldnn_max_pool${rank}d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    return torch.max_pool${rank}d(self, kernel_size, stride, padding, dilation, ceil_mode)
`,
  );

export const mkldnnRows: readonly OperatorRow[] = [
  decomposed(
    'aten::to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor',
    `
def to_mkldnn(self: Tensor, dtype: Optional[int]) -> Tensor:
    assert self.dtype in ${KNOWN_DTYPES}, "dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input"
    if dtype is not None:
        return torch.to(self, dtype, False, True, 0)
    return torch.clone(self, memory_format=0)
`,
  ),
  decomposed(
    'aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor',
    `
def to_dense(self: Tensor, dtype: Optional[int], masked_grad: Optional[bool]) -> Tensor:
    if dtype is not None:
        return torch.to(self, dtype, False, True, 0)
    return torch.clone(self, memory_format=0)
`,
  ),
  reorder(2),
  reorder(3),
  decomposed(
    'aten::mkldnn_linear(Tensor self, Tensor weight, Tensor? bias=None) -> Tensor',
    `
def mkldnn_linear(self: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    return torch.linear(self, weight, bias)
`,
  ),
  decomposed(
    'aten::mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups) -> Tensor',
    `
def mkldnn_convolution(self: Tensor, weight: Tensor, bias: Optional[Tensor], padding: List[int], stride: List[int], dilation: List[int], groups: int) -> Tensor:
    return torch.convolution(self, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)
`,
  ),
  maxPool(2),
  maxPool(3),
  decomposed(
    'aten::mkldnn_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor',
    `
def mkldnn_adaptive_avg_pool2d(self: Tensor, output_size: List[int]) -> Tensor:
    return torch.adaptive_avg_pool2d(self, output_size)
`,
  ),
  decomposed(
    'aten::_mkldnn_reshape(Tensor self, int[] shape) -> Tensor',
    `
def _mkldnn_reshape(self: Tensor, shape: List[int]) -> Tensor:
    return torch.clone(torch.reshape(self, shape))
`,
  ),
  decomposed(
    'aten::_mkldnn_transpose(Tensor self, int dim0, int dim1) -> Tensor',
    `
def _mkldnn_transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return torch.clone(torch.transpose(self, dim0, dim1), memory_format=0)
`,
  ),
];
