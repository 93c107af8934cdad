import { type FormulaTable } from './formula.ts';

export const products: FormulaTable = {
  addmm: `
def addmm(self, mat1, mat2, beta: number, alpha: number):
    result = torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    self_size = torch._size_if_not_equal(self.size(), result.size())
    def backward(grad):
        grad_self = (grad * beta)._grad_sum_to_size(self_size)
        grad_mat1 = grad.mm(mat2.t()) * alpha
        grad_mat2 = mat1.t().mm(grad) * alpha
        return grad_self, grad_mat1, grad_mat2, None, None

    return result, backward
`,
  bmm: { gradients: { self: 'AD_bmm_backward_self(grad, mat2)', mat2: 'AD_bmm_backward_mat2(grad, self)' } },
  dot: { gradients: { self: 'grad * tensor', tensor: 'grad * self' } },
  // Whoever has no bias takes no gradient of it, so what None is unwrapped to reaches nobody.
  linear: `
def linear(input: Tensor, weight: Tensor, bias: Optional[Tensor]):
    result = torch.linear(input, weight, bias)
    def backward(grad):
        if bias is not None:
            grad_bias = grad._grad_sum_to_size(bias.size())
        else:
            grad_bias = None
        weight_size = weight.size()
        grad_input = torch.matmul(grad, weight)
        grad_weight = torch.matmul(grad.reshape(-1, weight_size[0]).t(), input.reshape(-1, weight_size[1]))
        return grad_input, grad_weight, grad_bias.unchecked_unwrap_optional

    return result, backward
`,
  matmul: {
    gradients: {
      self_size: 'self.size()',
      other_size: 'other.size()',
      self: 'AD_matmul_bw_size(grad, AD_mat_transpose(other), self_size)._grad_sum_to_size(self_size)',
      other: 'AD_matmul_bw_size(AD_mat_transpose(self), grad, other_size)._grad_sum_to_size(other_size)',
    },
  },
  mm: { gradients: { self: 'AD_mm_backward_self(grad, mat2)', mat2: 'AD_mm_backward_mat2(grad, self)' } },
  mv: { gradients: { self: 'grad.ger(vec)', vec: 'self.t().mv(grad)' } },
};
