import { forOverloads, type DerivativeTable } from './derivative.ts';

const taken = { self: 'torch.index_put(torch.zeros(self.size(), dtype=grad.dtype), indices, grad, True)' };

const put = {
  self: 'grad if accumulate else torch.index_put(grad, indices, torch.zeros(values.size(), dtype=grad.dtype))',
  values: 'torch.index(grad, indices)',
};

const chosen = { self: 'along_slope(grad, self.size(), dim, indices)' };

/** Reading and writing elements by index, and what sorts. */
export const indexingDerivatives: DerivativeTable = {
  ...forOverloads('index.Tensor index.Tensor_hacked_twin _unsafe_index.Tensor _unsafe_index.Tensor_hacked_twin', taken),
  ...forOverloads('index_put _unsafe_index_put _index_put_impl', put),
  ...forOverloads('index_put.hacked_twin _unsafe_index_put.hacked_twin', put),
  index_select: {
    self: 'torch.index_add(torch.zeros(self.size(), dtype=grad.dtype), dim, index, grad) if len(self.size()) > 0 else grad.reshape(self.size())',
  },
  index_add: {
    self: 'grad',
    source: `
if source.dim() == 0:
    return torch.index_select(grad, dim, index).reshape(source.size()) * alpha
return torch.expand_as(torch.index_select(grad, dim, index), source) * alpha`,
  },
  index_copy: {
    self: 'torch.index_fill(grad, dim, index, 0)',
    source: 'torch.index_select(grad, dim, index).reshape(source.size())',
  },
  ...forOverloads('index_fill.int_Scalar index_fill.int_Tensor', {
    self: 'torch.index_fill(grad, dim, index, 0)',
    value: 'torch.sum(torch.masked_fill(grad, torch.index_fill(torch.ones_like(grad, dtype=11), dim, index, 0), 0))',
  }),
  index_reduce: {
    'self, source':
      'scatter_reduction_slope(grad, self, dim, spread_index(index, source, dim), source, reduce, include_self, result)',
  },
  gather: { self: 'torch.scatter_add(torch.zeros(self.size(), dtype=grad.dtype), dim, index, grad)' },
  take_along_dim: {
    self: `
if dim is None:
    flat = torch.zeros([self.numel()], dtype=grad.dtype)
    spots = torch.remainder(indices.reshape([-1]), max(self.numel(), 1))
    return torch.scatter_add(flat, 0, spots, grad.reshape([-1])).reshape(self.size())
axis = wrap(dim, self.dim())
wide = self.size()
places = indices.size()
for d in range(len(wide)):
    if d != axis:
        wide[d] = max(wide[d], places[d])
        places[d] = wide[d]
spots = torch.remainder(torch.expand(indices, places), max(self.size(axis), 1))
spread = torch.scatter_add(torch.zeros(wide, dtype=grad.dtype), axis, spots, torch.expand(grad, places))
return torch.sum_to_size(spread, self.size())`,
  },
  ...forOverloads('scatter.src', {
    self: 'torch.scatter(grad, dim, index, 0)',
    src: 'gathered_into(grad, dim, index, src.size())',
  }),
  'scatter.value': { self: 'torch.scatter(grad, dim, index, 0)' },
  'scatter.reduce': {
    'self, src': 'scatter_reduction_slope(grad, self, dim, index, src, named_reduction(reduce), True, result)',
  },
  'scatter.value_reduce': { self: 'grad if reduce == "add" else grad * scaled_places(grad, dim, index, float(value))' },
  scatter_add: { self: 'grad', src: 'gathered_into(grad, dim, index, src.size())' },
  'scatter_reduce.two': {
    'self, src': 'scatter_reduction_slope(grad, self, dim, index, src, reduce, include_self, result)',
  },
  masked_select: {
    self: 'torch.sum_to_size(torch.masked_scatter(torch.zeros(torch.broadcast_shapes(self.size(), mask.size()), dtype=grad.dtype), torch.expand(mask, torch.broadcast_shapes(self.size(), mask.size())), grad), self.size())',
  },
  masked_scatter: {
    self: 'torch.masked_fill(grad, mask, 0)',
    source: `
given = torch.masked_select(grad, mask)
rest = source.numel() - given.numel()
return torch.cat([given, torch.zeros([rest], dtype=grad.dtype)], 0).reshape(source.size())`,
  },
  take: {
    self: 'torch.index_add(torch.zeros([self.numel()], dtype=grad.dtype), 0, torch.remainder(index.reshape([-1]), self.numel()), grad.reshape([-1])).reshape(self.size())',
  },
  put: {
    self: 'grad if accumulate else torch.put(grad, index, torch.zeros(source.size(), dtype=grad.dtype))',
    source: 'torch.take(grad, index).reshape(source.size())',
  },
  ...forOverloads('sort sort.stable topk', chosen),
  msort: { '=': 'torch.sort(self, 0, False)[0]' },
  kthvalue: { self: 'value_slope(grad, self.size(), dim, indices, keepdim)' },
  ...forOverloads('max.dim min.dim median.dim nanmedian.dim mode', {
    self: 'value_slope(grad, self.size(), dim, indices, keepdim)',
  }),
  _unsafe_masked_index: {
    self: 'torch._unsafe_masked_index_put_accumulate(torch.zeros(self.size(), dtype=grad.dtype), mask, indices, grad)',
  },
  _unsafe_masked_index_put_accumulate: {
    self: 'grad',
    values: 'torch._unsafe_masked_index(grad, mask, indices, 0)',
  },
  embedding: {
    weight: 'torch.embedding_dense_backward(grad, indices, weight.size(0), padding_idx, scale_grad_by_freq)',
  },
  'embedding_bag.padding_idx': {
    'weight, per_sample_weights': `
padding = padding_idx
if padding is not None and padding < 0:
    padding = padding + weight.size(0)
return bag_slopes(grad, weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding)`,
  },
  // Below zero it is none here.
  ...forOverloads('_embedding_bag _embedding_bag_forward_only', {
    'weight, per_sample_weights':
      'bag_slopes(grad, weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx)',
  }),
  embedding_bag: {
    'weight, per_sample_weights':
      'bag_slopes(grad, weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, None)',
  },
};
