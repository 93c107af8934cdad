import { nowhere, ofSelf, type FormulaTable } from './formula.ts';

/** The sizes are all that is kept of what changed its shape. */
const reshaped = (signature: string, call: string): string => `
def ${signature}:
    self_size = self.size()
    def backward(grad):
        return grad.reshape(self_size), None

    return ${call}, backward
`;

/** Views, and what arranges elements in another way. */
export const shapes: FormulaTable = {
  _autocast_to_full_precision: `
def _autocast_to_full_precision(self, cuda_enabled: bool, cpu_enabled: bool):
    self_dtype = self.dtype
    def backward(grad):
        return grad.to(self_dtype), None, None

    return torch._autocast_to_full_precision(self, cuda_enabled, cpu_enabled), backward
`,
  _autocast_to_reduced_precision: `
def _autocast_to_reduced_precision(self, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: int, cpu_dtype: int):
    self_dtype = self.dtype
    def backward(grad):
        return grad.to(self_dtype), None, None, None, None

    return torch._autocast_to_reduced_precision(self, cuda_enabled, cpu_enabled, cuda_dtype, cpu_dtype), backward
`,
  _dim_arange: nowhere,
  _grad_sum_to_size: `
def _grad_sum_to_size(self, size: Optional[List[int]]):
    result = torch._grad_sum_to_size(self, size)
    self_size = torch._size_if_not_equal(self.size(), result.size())
    def backward(grad):
        if self_size is None:
            grad_self = grad
        else:
            grad_self = grad.expand(self_size)
        return grad_self, None

    return result, backward
`,
  cat: `
def cat(tensors: List[Tensor], dim: int):
    count = len(tensors)
    lengths = [0] * count
    for i in range(count):
        if tensors[i].size() != [0]:
            lengths[i] = tensors[i].size()[dim]
    def backward(grad):
        grad_tensors = torch.split_with_sizes(grad, lengths, dim)
        return grad_tensors, None

    return torch.cat(tensors, dim), backward
`,
  contiguous: ofSelf('grad'),
  expand: { gradients: { self: 'grad' }, sizes: 'one by one' },
  expand_as: { gradients: { self: 'grad' }, sizes: 'one by one' },
  'index.Tensor_hacked_twin': ofSelf('torch.zeros_like(self, memory_format=1).index_put_(indices, grad, True)'),
  // A tensor without dimensions counts as one of length 1.
  meshgrid: `
def meshgrid(tensors: List[Tensor]):
    count = len(tensors)
    lengths = [0] * count
    for i in range(count):
        if tensors[i].dim() != 0:
            lengths[i] = tensors[i].size()[0]
    def backward(grads: List[Tensor]):
        grad_tensors = []
        for i in range(count):
            along = [1] * count
            if lengths[i] == 0:
                along[i] = 1
                grad_tensors.append((grads[i]._grad_sum_to_size(along)).reshape(()))
            else:
                along[i] = lengths[i]
                grad_tensors.append((grads[i]._grad_sum_to_size(along)).reshape([lengths[i]]))
        return grad_tensors

    return torch.meshgrid(tensors), backward
`,
  nonzero: nowhere,
  permute: ofSelf('AD_permute_backward(grad, dims)'),
  reshape: reshaped('reshape(self, shape: List[int])', 'torch.reshape(self, shape)'),
  'split.Tensor': `
def split(self, split_size: int, dim: int):
    def backward(grads: List[Tensor]):
        grad_self = torch.cat(grads, dim)
        return grad_self, None, None

    return torch.split(self, split_size, dim), backward
`,
  split_with_sizes: `
def split_with_sizes(self, split_sizes: List[int], dim: int):
    def backward(grads: List[Tensor]):
        grad_self = torch.cat(grads, dim)
        return grad_self, None, None

    return torch.split_with_sizes(self, split_sizes, dim), backward
`,
  squeeze: `
def squeeze(self):
    self_size = self.size()
    def backward(grad):
        grad_self = AD_unsqueeze_to_0(grad, self_size)
        return grad_self

    return torch.squeeze(self), backward
`,
  'squeeze.dim': `
def squeeze(self, dim: int):
    self_size = self.size()
    def backward(grad):
        grad_self = AD_unsqueeze_to_1(grad, dim, self_size)
        return grad_self, None

    return torch.squeeze(self, dim), backward
`,
  stack: { gradients: { tensors: 'torch.unbind(grad, dim)' } },
  t: ofSelf('torch.t(grad)'),
  'to.prim_Device': `
def to(self, device: Optional[Device], dtype: Optional[int], non_blocking: bool, copy: bool):
    self_device = self.device
    self_dtype = self.dtype
    if device is not None:
        result = self.to(device, dtype=dtype, non_blocking=non_blocking, copy=copy)
    else:
        result = self.to(dtype, non_blocking=non_blocking, copy=copy)
    def backward(grad):
        grad_self = grad.to(self_device, dtype=self_dtype, non_blocking=non_blocking, copy=copy)
        return grad_self, None, None, None, None

    return result, backward
`,
  'transpose.int': ofSelf('torch.transpose(grad, dim0, dim1)'),
  type_as: ofSelf('grad.type_as(self)'),
  'unbind.int': `
def unbind(self, dim: int):
    def backward(grads: List[Tensor]):
        grad_self = torch.stack(grads, dim)
        return grad_self, None

    return torch.unbind(self, dim), backward
`,
  unsqueeze: ofSelf('grad.squeeze(dim)'),
  view: reshaped('view(self, size: List[int])', 'torch.view(self, size)'),
};
