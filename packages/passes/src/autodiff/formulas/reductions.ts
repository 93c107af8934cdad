import { type FormulaTable } from './formula.ts';

export const reductions: FormulaTable = {
  mean: `
def mean(self, dtype: Optional[int]):
    self_size = self.size()
    self_numel = self.numel()
    self_dtype = self.dtype
    def backward(grad):
        return grad.expand(self_size).to(self_dtype) / self_numel, None

    return torch.mean(self, dtype=dtype), backward
`,
  'mean.dim': `
def mean(self, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]):
    self_size = self.size()
    self_dtype = self.dtype
    def backward(grad):
        grad_self = AD_sum_backward(grad, self_size, dim, keepdim).to(self_dtype) / AD_safe_size(self_size, dim)
        return grad_self, None, None, None

    return torch.mean(self, dim, keepdim, dtype=dtype), backward
`,
  logsumexp: { gradients: { self: 'AD_logsumexp_backward(grad, self, result, dim, keepdim)' } },
  std: {
    gradients: {
      correction: 'AD_bool_to_int(unbiased)',
      self: 'AD_var_backward_0(grad / (result * 2), self, correction)',
    },
  },
  'std.dim': {
    gradients: {
      correction: 'AD_bool_to_int(unbiased)',
      self: 'AD_var_backward_2(grad / (result * 2), self, dim, correction, keepdim)',
    },
  },
  'std.correction': {
    gradients: { self: 'AD_var_backward_2(grad / (result * 2), self, dim, correction, keepdim)' },
  },
  var: {
    gradients: { correction: 'AD_bool_to_int(unbiased)', self: 'AD_var_backward_0(grad, self, correction)' },
  },
  'var.dim': {
    gradients: {
      correction: 'AD_bool_to_int(unbiased)',
      self: 'AD_var_backward_2(grad, self, dim, correction, keepdim)',
    },
  },
  'var.correction': { gradients: { self: 'AD_var_backward_2(grad, self, dim, correction, keepdim)' } },
};
