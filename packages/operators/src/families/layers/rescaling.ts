import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Weights and gradients rescaled (ATen/native/WeightNorm.cpp, Normalization.cpp renorm, SoftMax.cpp, RReLU). */

/** Appended to texts that need the norms of slices along a dimension, kept for broadcasting. */
const sliceNorms = `
def slice_norms(x: Tensor, p: float, dim: int) -> Tensor:
    others: List[int] = []
    for at in range(x.dim()):
        if at != dim:
            others.append(at)
    return torch.linalg_vector_norm(x, p, others, True)
`;

const rreluOptions =
  'Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None';

export const rescalingRows: readonly OperatorRow[] = [
  decomposed(
    'aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor',
    `
def _weight_norm(v: Tensor, g: Tensor, dim: int) -> Tensor:
    if dim == -1:
        return v * (g / torch.norm(v))
    return v * (g / slice_norms(v, 2.0, dim))
${sliceNorms}`,
  ),
  decomposed(
    'aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)',
    `
def _weight_norm_interface(v: Tensor, g: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    norms = slice_norms(v, 2.0, dim)
    return v * (g / norms), norms
${sliceNorms}`,
  ),
  decomposed(
    'aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor',
    `
def renorm(self: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    assert p > 0, "renorm: non-positive-norm not supported"
    assert maxnorm >= 0, f"renorm: expected maxnorm to be >= 0 but got {maxnorm}"
    assert self.dim() > 1, f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions"
    own = dim
    if dim < 0:
        own = dim + self.dim()
    norms = slice_norms(self, float(p), own)
    factors = torch.where(norms > maxnorm, torch.reciprocal(norms + 1e-07) * maxnorm, torch.ones_like(norms))
    return self * factors
${sliceNorms}`,
    { inPlace: true, out: true },
  ),
  decomposed(
    'aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor',
    `
def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    if dim == -1:
        return torch.norm(v, pow)
    own = dim
    if dim < 0:
        own = dim + v.dim()
    return slice_norms(v, float(pow), own)
${sliceNorms}`,
  ),
  decomposed(
    'aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor',
    `
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    if grad_output.size() != output.size():
        assert False, f"Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but {grad_output.size()} does not equal {output.size()} (while checking arguments for softmax_backward)"
    if grad_output.numel() > 0 and not grad_output.is_floating_point():
        kernel = "softmax_backward_lastdim_kernel_impl" if dim == -1 or dim == grad_output.dim() - 1 or grad_output.dim() == 0 else "softmax_backward_kernel_impl"
        assert False, f"\\"{kernel}\\" not implemented for '{ops.prim.dtype_name(grad_output, grad_output)}'"
    weighted = grad_output * output
    return (weighted - output * weighted.sum([dim], True)).to(input_dtype)
`,
  ),
  decomposed(
    'aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor',
    `
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    return (grad_output - torch.exp(output) * grad_output.sum([dim], True)).to(input_dtype)
`,
  ),
  decomposed(
    'aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor',
    `
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * mask * scale
`,
    { out: true },
  ),
  decomposed(
    `aten::rrelu(Tensor self, ${rreluOptions}) -> Tensor`,
    `
def rrelu(self: Tensor, lower: number, upper: number, training: bool, generator: Optional[Generator]) -> Tensor:
    assert lower <= upper, "Lower bound should be less than or equal to the upper bound"
    if training:
        assert self.dtype in [6, 7, 15], f"\\"rrelu_with_noise_out_cpu\\" not implemented for '{ops.prim.dtype_name(self, self)}'"
        slopes = torch.rand_like(self) * (upper - lower) + lower
        return torch.where(self >= 0, self, self * slopes)
    return torch.leaky_relu(self, (lower + upper) / 2)
`,
    { inPlace: true },
  ),
];
