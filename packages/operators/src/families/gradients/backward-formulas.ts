import type { OperatorRow } from '../../table/row.ts';
import { autogradRows } from './autograd-operators.ts';
import { derivative } from './derivative-row.ts';
import { layerRows } from './layer-derivatives.ts';

/**
 * Derivatives that PyTorch has as operators, said in terms of others (ATen/native/Activation.cpp, Loss.cpp, LossNLL.cpp,
 * Embedding.cpp, FunctionsManual.cpp). Training graphs that the JIT makes are written with them.
 */

const intoGradInput = 'grad_input(grad_input)';

/** A loss's gradient, shared out among the elements it was reduced over: 1 averages, 2 adds up. */
const shared = (gradient: string): string => `
spread = grad_output / self.numel() if reduction == 1 else grad_output
return (${gradient}) * spread`;

const masked = (condition: string): string =>
  `return torch.where(${condition}, grad_output, torch.zeros_like(grad_output))`;

const activationRows: readonly OperatorRow[] = [
  derivative(
    'threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor',
    'return torch.where(self <= threshold, torch.zeros_like(grad_output), grad_output)',
    intoGradInput,
  ),
  derivative(
    'sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor',
    'return grad_output * torch.conj((1 - output) * output)',
    intoGradInput,
  ),
  derivative(
    'tanh_backward(Tensor grad_output, Tensor output) -> Tensor',
    'return grad_output * torch.conj(1 - output * output)',
    intoGradInput,
  ),
  derivative(
    'hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor',
    'return torch.where(torch.logical_or(self <= min_val, self >= max_val), torch.zeros_like(grad_output), grad_output)',
    intoGradInput,
  ),
  derivative(
    'leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor',
    `
assert not self_is_result or negative_slope >= 0, "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with negative slope"
return torch.where(self > 0, grad_output, grad_output * negative_slope)`,
    intoGradInput,
  ),
  derivative(
    'elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor',
    `
x = self_or_result
if is_result:
    below = grad_output * input_scale * (x + alpha * scale)
else:
    below = grad_output * (alpha * scale * input_scale) * torch.exp(x * input_scale)
return torch.where(x <= 0, below, grad_output * scale)`,
    intoGradInput,
  ),
  derivative(
    'softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor',
    `
z = torch.exp(self * beta)
return torch.where(self * beta > threshold, grad_output, grad_output * z / (z + 1.))`,
    intoGradInput,
  ),
  derivative(
    'hardswish_backward(Tensor grad_output, Tensor self) -> Tensor',
    `
inside = torch.where(self < 3, grad_output * (self / 3. + 0.5), grad_output)
return torch.where(self <= -3, torch.zeros_like(grad_output), inside)`,
  ),
  derivative(
    'hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor',
    `
inside = torch.logical_and(self > -3., self < 3.)
return torch.where(inside, grad_output * (1. / 6.), torch.zeros_like(grad_output))`,
    intoGradInput,
  ),
  derivative(
    'hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor',
    `
shrunk = torch.logical_and(self >= -lambd, self <= lambd)
return torch.where(shrunk, torch.zeros_like(grad_out), grad_out)`,
    intoGradInput,
  ),
  derivative(
    'softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor',
    `
shrunk = torch.logical_and(self >= -lambd, self <= lambd)
${masked('torch.logical_not(shrunk)')}`,
    intoGradInput,
  ),
  derivative(
    'log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)',
    'return torch.log_sigmoid(self), torch.exp(-torch.abs(self))',
  ),
  derivative(
    'log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor',
    `
z = torch.exp(-torch.abs(self))
below = self < 0
most = below.to(self.dtype)
sign = most * 2 - 1
return (most - sign * (z / (z + 1))) * grad_output`,
    intoGradInput,
  ),
  derivative(
    'logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor',
    `
gradient = grad_output / (self * (1.0 - self))
if eps is None:
    outside = torch.logical_or(self < 0.0, self > 1.0)
    return torch.where(outside, torch.full_like(gradient, float("nan")), gradient)
outside = torch.logical_or(self < eps, self > 1.0 - eps)
return torch.where(outside, torch.zeros_like(gradient), gradient)`,
    intoGradInput,
  ),
  derivative(
    'gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor',
    `
if approximate == "tanh":
    inner = 0.7978845608028654 * (self + 0.044715 * self * self * self)
    t = torch.tanh(inner)
    slope = 0.7978845608028654 * (1 + 3 * 0.044715 * self * self)
    return grad_output * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * slope)
cdf = 0.5 * (1 + torch.erf(self * 0.7071067811865476))
pdf = torch.exp(-0.5 * self * self) * 0.3989422804014327
return grad_output * (cdf + self * pdf)`,
    intoGradInput,
  ),
  derivative(
    'silu_backward(Tensor grad_output, Tensor self) -> Tensor',
    `
s = torch.sigmoid(self)
return grad_output * s * (1 + self * (1 - s))`,
    intoGradInput,
  ),
  derivative(
    'mish_backward(Tensor grad_output, Tensor self) -> Tensor',
    `
s = torch.sigmoid(self)
t = torch.tanh(torch.softplus(self))
return grad_output * (t + self * s * (1 - t * t))`,
  ),
  derivative(
    'glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor',
    `
half = self.size(dim) // 2
first = torch.narrow(self, dim, 0, half)
gate = torch.sigmoid(torch.narrow(self, dim, half, half))
return torch.cat([gate * grad_output, (1 - gate) * gate * first * grad_output], dim)`,
    intoGradInput,
  ),
  derivative(
    '_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)',
    `
above = self > 0
zero = torch.zeros_like(grad_output)
return torch.where(above, grad_output, weight * grad_output), torch.where(above, zero, self * grad_output)`,
  ),
];

const lossRows: readonly OperatorRow[] = [
  derivative(
    'mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor',
    shared('2. * (self - target)'),
    intoGradInput,
  ),
  derivative(
    'smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor',
    `
x = self - target
slope = torch.sign(x) if beta == 0. else torch.clamp(x / beta, -1, 1)${shared('slope')}`,
    intoGradInput,
  ),
  derivative(
    'huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor',
    shared('torch.clamp(self - target, -delta, delta)'),
    'out(grad_input)',
  ),
  derivative(
    'soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor',
    `
z = torch.exp(-target * self)${shared('-target * z / (1. + z)')}`,
    intoGradInput,
  ),
  derivative(
    'binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor',
    `
gradient = grad_output * (self - target) / torch.clamp_min((1. - self) * self, 1e-12)
if weight is not None:
    gradient = gradient * weight
return gradient / self.numel() if reduction == 1 else gradient`,
    intoGradInput,
  ),
  derivative(
    'nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor',
    `
classes = self.dim() - 1
labels = target.unsqueeze(classes)
kept = labels != ignore_index
places = torch.where(kept, labels, torch.zeros_like(labels))
chosen = torch.zeros_like(self).scatter(classes, places, -1.0)
spread = grad_output / total_weight if reduction == 1 else grad_output
if weight is not None:
    chosen = chosen * weight
if self.dim() > spread.dim() and spread.dim() > 0:
    spread = spread.unsqueeze(classes)
return chosen * torch.where(kept, spread, torch.zeros_like(spread))`,
    intoGradInput,
  ),
];

const shapeRows: readonly OperatorRow[] = [
  derivative(
    '_grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)',
    'return self if size is None else torch.sum_to_size(self, size)',
  ),
  derivative(
    'trace_backward(Tensor grad, SymInt[] sizes) -> Tensor',
    `
assert len(sizes) == 2, "expected matrix input"
return torch.eye(sizes[0], sizes[1], dtype=grad.dtype) * grad`,
  ),
  derivative(
    'select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor',
    `
gradient = torch.zeros(input_sizes, dtype=grad_output.dtype)
torch.select(gradient, dim, index).copy_(grad_output)
return gradient`,
    'out',
  ),
  derivative(
    'slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor',
    `
gradient = torch.zeros(input_sizes, dtype=grad_output.dtype)
torch.slice(gradient, dim, start, end, step).copy_(grad_output)
return gradient`,
    'out',
  ),
  derivative(
    'diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor',
    `
gradient = torch.zeros(input_sizes, dtype=grad_output.dtype)
torch.diagonal(gradient, offset, dim1, dim2).copy_(grad_output)
return gradient`,
    'out',
  ),
  derivative(
    'index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor',
    'return torch.index_add(torch.zeros(self_sizes, dtype=grad.dtype), dim, index, grad)',
  ),
  derivative(
    'unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor',
    `
gradient = torch.zeros(input_sizes, dtype=grad_in.dtype)
if len(input_sizes) == 0:
    return grad_in.squeeze()
d = dim if dim >= 0 else dim + len(input_sizes)
for at in range(grad_in.size(d)):
    torch.narrow(gradient, d, at * step, size).add_(torch.movedim(torch.select(grad_in, d, at), -1, d))
return gradient`,
    'out',
  ),
  derivative(
    'masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor',
    'return torch.masked_scatter(torch.zeros_like(torch.expand_copy(input, torch.broadcast_shapes(input.size(), mask.size()))), mask, grad)',
  ),
  derivative(
    'value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor',
    `
gradient = torch.zeros(sizes, dtype=grad.dtype)
if keepdim or len(sizes) == 0:
    return gradient.scatter(dim, indices, grad)
return gradient.scatter(dim, indices.unsqueeze(dim), grad.unsqueeze(dim))`,
  ),
  derivative(
    'embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor',
    `
width = grad_output.size(-1)
flat = indices.reshape(-1)
gradient = grad_output.reshape([-1, width])
if scale_grad_by_freq:
    counts = torch.bincount(flat, None, num_weights)
    gradient = gradient / torch.index_select(counts, 0, flat).unsqueeze(1)
if padding_idx >= 0:
    gradient = gradient * (flat != padding_idx).unsqueeze(1)
return torch.index_add(torch.zeros([num_weights, width], dtype=grad_output.dtype), 0, flat, gradient)`,
    'out',
  ),
  derivative(
    'convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
    `
rank = input.dim() - 2
steps = stride if len(stride) == rank else stride * rank
margins = padding if len(padding) == rank else padding * rank
spread = dilation if len(dilation) == rank else dilation * rank
none = torch.empty([0], dtype=grad_output.dtype)
grad_input, grad_weight, grad_bias = none, none, none
if output_mask[0]:
    rest = [0] * rank
    if not transposed:
        for d in range(rank):
            rest[d] = input.size(d + 2) - ((grad_output.size(d + 2) - 1) * steps[d] - 2 * margins[d] + spread[d] * (weight.size(d + 2) - 1) + 1)
    grad_input = torch.convolution(grad_output, weight, None, steps, margins, spread, not transposed, rest, groups)
if output_mask[1]:
    # What is moved over what: of the two, the larger one is the image.
    image, kernel = (grad_output, input) if transposed else (input, grad_output)
    parts: List[Tensor] = []
    width, depth = image.size(1) // groups, kernel.size(1) // groups
    for g in range(groups):
        own = torch.narrow(image, 1, g * width, width).transpose(0, 1)
        moved = torch.narrow(kernel, 1, g * depth, depth).transpose(0, 1)
        part = torch.convolution(own, moved, None, spread, margins, steps, False, [0] * rank, 1)
        for d in range(rank):
            part = torch.narrow(part, d + 2, 0, weight.size(d + 2))
        parts.append(part.transpose(0, 1))
    grad_weight = parts[0] if groups == 1 else torch.cat(parts, 0)
if output_mask[2]:
    grad_bias = torch.sum(grad_output, [0] + [d + 2 for d in range(rank)])
return grad_input, grad_weight, grad_bias`,
    'out(out0, out1, out2)',
  ),
];

export const backwardRows: readonly OperatorRow[] = [
  ...activationRows,
  ...lossRows,
  ...shapeRows,
  ...layerRows,
  ...autogradRows,
];
