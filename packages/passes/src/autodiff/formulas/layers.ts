import { ofSelf, type FormulaTable } from './formula.ts';

/** Maxima are found with their places, which the gradient goes back to. */
const maxPool = (name: string, results: string): string => `
def ${name}(self, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool):
    output, indices = torch.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    def backward(grad):
        grad_self = torch.max_pool2d_with_indices_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode, indices)
        return grad_self, None, None, None, None, None

    return ${results}, backward
`;

/** Layers of networks whose backward pass is an operator of its own. */
export const layers: FormulaTable = {
  adaptive_avg_pool1d: ofSelf('AD_adaptive_avg_pool1d_backward(grad, self, output_size)'),
  adaptive_avg_pool2d: ofSelf('AD_adaptive_avg_pool2d_backward(grad, self, output_size)'),
  adaptive_avg_pool3d: ofSelf('AD_adaptive_avg_pool3d_backward(grad, self, output_size)'),
  avg_pool2d: ofSelf(
    'torch.avg_pool2d_backward(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)',
  ),
  batch_norm: `
def batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor],
               running_var: Optional[Tensor], training: bool, momentum: float, eps: float, cudnn_enabled: bool):
    output, save1, save2, reserve, impl_idx = torch._batch_norm_impl_index(
        input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
    has_weight = weight is not None
    has_bias = bias is not None
    def backward(grad):
        grad_input, grad_weight, grad_bias = torch._batch_norm_impl_index_backward(
            impl_idx, input, grad, weight, running_mean, running_var, save1, save2, training, eps,
            [True, has_weight, has_bias], reserve)
        return grad_input, grad_weight, grad_bias, None, None, None, None, None, None

    return output, backward
`,
  // Outside of training nothing is dropped, and the scale has to be 1.
  dropout: `
def dropout(input, p: float, train: bool):
    kept = (1. - p) * float(train)
    scale = 1. / (float(kept == 0.) + kept)
    result, mask = torch.native_dropout(input, p, train)
    def backward(grad):
        grad_input = torch.native_dropout_backward(grad, mask, scale)
        return grad_input, None, None

    return result, backward
`,
  embedding: `
def embedding(weight, indices, padding_idx: int, scale_grad_by_freq: bool, sparse: bool):
    rows = weight.size()[0]
    def backward(grad):
        grad_weight = torch.embedding_backward(grad, indices, rows, padding_idx, scale_grad_by_freq, sparse)
        return grad_weight, None, None, None, None

    return torch.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse), backward
`,
  layer_norm: `
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float,
               cudnn_enable: bool):
    output, mean, rstd = torch.native_layer_norm(input, normalized_shape, weight, bias, eps)
    def backward(grad):
        wanted = [True, weight is not None, bias is not None]
        grad_input, grad_weight, grad_bias = torch.native_layer_norm_backward(
            grad, input, normalized_shape, mean, rstd, weight, bias, wanted)
        return grad_input, None, grad_weight, grad_bias, None, None

    return output, backward
`,
  'log_softmax.int': ofSelf('torch._log_softmax_backward_data(grad, result, dim, self.dtype)'),
  max_pool2d: maxPool('max_pool2d', 'output'),
  max_pool2d_with_indices: maxPool('max_pool2d_with_indices', 'output, indices'),
  nll_loss: `
def nll_loss(self, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    result, total_weight = torch.nll_loss_forward(self, target, weight, reduction, ignore_index)
    def backward(grad):
        return torch.nll_loss_backward(grad, self, target, weight, reduction, ignore_index, total_weight), None, None, None, None

    return result, backward
`,
  'softmax.int': ofSelf('torch._softmax_backward_data(grad, result, dim, self.dtype)'),
};
