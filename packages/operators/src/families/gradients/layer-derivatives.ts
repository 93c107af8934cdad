import type { OperatorRow } from '../../table/row.ts';
import { derivative } from './derivative-row.ts';

/** Derivatives of layers: pools, normalisations, embeddings (ATen/native/AdaptiveAveragePooling.cpp, AveragePool2d.cpp, Normalization.cpp …). */

/** Appended to texts of average pools: a gradient shared out along one dimension, by the windows' part in each place. */
const sharedAlong = `
def shared_along(grad: Tensor, dim: int, begins: Tensor, ends: Tensor, counts: Tensor, size: int) -> Tensor:
    places = torch.arange(size)
    inside = torch.logical_and(places >= begins.unsqueeze(1), places < ends.unsqueeze(1))
    shares = inside.to(grad.dtype) / counts.unsqueeze(1)
    return torch.matmul(grad.transpose(dim, -1), shares).transpose(dim, -1)
`;

const adaptive = (rank: number): OperatorRow =>
  derivative(
    `_adaptive_avg_pool${rank}d_backward(Tensor grad_output, Tensor self) -> Tensor`,
    `
gradient = grad_output
for d in range(${rank}):
    dim = self.dim() - 1 - d
    size, windows = self.size(dim), grad_output.size(dim)
    at = torch.arange(windows)
    begins = torch.floor_divide(at * size, windows)
    ends = torch.floor_divide((at + 1) * size + windows - 1, windows)
    gradient = shared_along(gradient, dim, begins, ends, ends - begins, size)
return gradient.contiguous()`,
    'out(out)',
    sharedAlong,
  );

export const layerRows: readonly OperatorRow[] = [
  adaptive(2),
  adaptive(3),
  derivative(
    'avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor',
    `
gradient = grad_output
steps = kernel_size if len(stride) == 0 else stride
for d in range(2):
    dim = self.dim() - 2 + d
    size, windows = self.size(dim), grad_output.size(dim)
    kernel = kernel_size[d if len(kernel_size) == 2 else 0]
    margin = padding[d if len(padding) == 2 else 0]
    begins = torch.arange(windows) * steps[d if len(steps) == 2 else 0] - margin
    ends = torch.clamp(begins + kernel, None, size + margin)
    covered = ends - begins
    if divisor_override is not None:
        covered = torch.ones_like(covered)
    elif not count_include_pad:
        covered = torch.clamp(ends, None, size) - torch.clamp(begins, 0, None)
    gradient = shared_along(gradient, dim, begins, ends, covered, size)
if divisor_override is not None:
    gradient = gradient / divisor_override
return gradient.contiguous()`,
    'grad_input(grad_input)',
    sharedAlong,
  ),
  derivative(
    'max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor',
    `
planes = self.size()[:-2]
plane = self.size(-1) * self.size(-2)
gradient = torch.zeros(planes + [plane], dtype=grad_output.dtype)
return torch.scatter_add(gradient, -1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.size())`,
    'grad_input(grad_input)',
  ),
  derivative(
    'native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
    `
dims = [0] + [d + 2 for d in range(input.dim() - 2)]
along = [1, input.size(1)] + [1] * (input.dim() - 2)
if train:
    assert save_mean is not None and save_invstd is not None
    mean, invstd = save_mean, save_invstd
else:
    assert running_mean is not None and running_var is not None
    mean, invstd = running_mean, torch.rsqrt(running_var + eps)
normalized = (input - mean.reshape(along)) * invstd.reshape(along)
total = torch.sum(grad_out, dims)
projected = torch.sum(grad_out * normalized, dims)
none = torch.empty([0], dtype=grad_out.dtype)
grad_input, grad_weight, grad_bias = none, none, none
if output_mask[0]:
    scale = invstd if weight is None else invstd * weight
    centred = grad_out
    if train:
        count = input.numel() // input.size(1)
        centred = grad_out - (total.reshape(along) + normalized * projected.reshape(along)) / count
    grad_input = (centred * scale.reshape(along)).to(grad_out.dtype)
if output_mask[1]:
    grad_weight = projected
if output_mask[2]:
    grad_bias = total
return grad_input, grad_weight, grad_bias`,
    'out(out0, out1, out2)',
  ),
  derivative(
    '_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var_transform, bool train, float eps, bool[3] output_mask, Tensor reservedSpace) -> (Tensor, Tensor, Tensor)',
    'return torch.native_batch_norm_backward(grad_output, input, weight, running_mean, running_var, save_mean, save_var_transform, train, eps, output_mask)',
  ),
  derivative(
    'native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
    `
kept = input.dim() - len(normalized_shape)
inner = [kept + d for d in range(len(normalized_shape))]
outer = [d for d in range(kept)]
normalized = (input - mean) * rstd
none = torch.empty([0], dtype=grad_out.dtype)
grad_input, grad_weight, grad_bias = none, none, none
if output_mask[0]:
    weighted = grad_out if weight is None else grad_out * weight
    centred = weighted - torch.mean(weighted, inner, True) - normalized * torch.mean(weighted * normalized, inner, True)
    grad_input = (centred * rstd).to(grad_out.dtype)
if output_mask[1]:
    grad_weight = grad_out * normalized
    if kept > 0:
        grad_weight = torch.sum(grad_weight, outer)
if output_mask[2]:
    grad_bias = grad_out
    if kept > 0:
        grad_bias = torch.sum(grad_out, outer)
return grad_input, grad_weight, grad_bias`,
    'out(out0, out1, out2)',
  ),
  derivative(
    'embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor',
    `
assert not sparse, "gradients of embeddings are dense here"
return torch.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)`,
  ),
];
