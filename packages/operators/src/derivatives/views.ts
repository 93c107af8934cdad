import { forOverloads, type DerivativeTable } from './derivative.ts';

const same = { self: 'grad' };
const reshaped = { self: 'torch.reshape(grad, self.size())' };

/** A tensor that is made a view in place is what the view is from then on: nothing was written to. */
const inPlaceViews: DerivativeTable = {
  ...forOverloads('transpose_ swapdims_', { '=': 'torch.transpose(self, dim0, dim1)' }),
  swapaxes_: { '=': 'torch.transpose(self, axis0, axis1)' },
  t_: { '=': 'torch.t(self)' },
  squeeze_: { '=': 'torch.squeeze(self)' },
  ...forOverloads('squeeze_.dim squeeze_.dims', { '=': 'torch.squeeze(self, dim)' }),
  unsqueeze_: { '=': 'torch.unsqueeze(self, dim)' },
  as_strided_: { '=': 'torch.as_strided(self, size, stride, storage_offset)' },
};

/** Views, copies and conversions: what moves elements and computes nothing. */
export const viewDerivatives: DerivativeTable = {
  ...forOverloads(
    `to.device to.dtype to.dtype_layout to.other to.prim_Device to.prim_dtype to.prim_other _to_copy type_as clone contiguous alias alias_copy
    _lazy_clone _fw_primal _autocast_to_reduced_precision _autocast_to_full_precision lift_fresh _cast_Float _cast_Double _cast_Half cpu cuda`
      .split(/\s+/)
      .join(' '),
    same,
  ),
  ...forOverloads(
    `view _unsafe_view view_as reshape reshape_as flatten.using_ints ravel unflatten.int squeeze squeeze.dim squeeze.dims unsqueeze _reshape_alias
    _reshape_alias_copy view_copy squeeze_copy squeeze_copy.dim squeeze_copy.dims unsqueeze_copy atleast_1d atleast_2d atleast_3d _ncf_unsqueeze`
      .split(/\s+/)
      .join(' '),
    reshaped,
  ),
  ...forOverloads('expand expand_as broadcast_to expand_copy', { self: 'torch.sum_to_size(grad, self.size())' }),
  ...forOverloads('permute permute_copy', {
    self: `
back = [0] * len(dims)
for at in range(len(dims)):
    back[wrap(dims[at], len(dims))] = at
return torch.permute(grad, back)`,
  }),
  ...forOverloads('transpose.int transpose_copy.int swapdims', {
    self: 'torch.transpose(grad, dim0, dim1)',
  }),
  swapaxes: { self: 'torch.transpose(grad, axis0, axis1)' },
  ...forOverloads('t t_copy', { self: 'torch.t(grad)' }),
  ...forOverloads('numpy_T numpy_T.a', {
    self: 'torch.permute(grad, [grad.dim() - 1 - d for d in range(grad.dim())])',
  }),
  ...forOverloads('mT mT.a', { self: 'torch.transpose(grad, -2, -1)' }),
  ...forOverloads('mH mH.a adjoint', { self: 'torch.conj(torch.transpose(grad, -2, -1))' }),
  ...forOverloads('matrix_H', {
    self: 'torch.conj(torch.transpose(grad, 0, 1)) if grad.dim() == 2 else torch.conj(grad)',
  }),
  'movedim.int': { self: 'torch.movedim(grad, destination, source)' },
  'movedim.intlist': { self: 'torch.movedim(grad, destination, source)' },
  ...forOverloads('select.int select_copy.int', { self: 'torch.select_backward(grad, self.size(), dim, index)' }),
  ...forOverloads('slice.Tensor slice_copy.Tensor', {
    self: `
gradient = torch.zeros(self.size(), dtype=grad.dtype)
torch.slice(gradient, dim, start, end, step).copy_(grad)
return gradient`,
  }),
  ...forOverloads('narrow narrow_copy', {
    self: `
gradient = torch.zeros(self.size(), dtype=grad.dtype)
torch.narrow(gradient, dim, start, length).copy_(grad)
return gradient`,
  }),
  'narrow.Tensor': {
    self: `
gradient = torch.zeros(self.size(), dtype=grad.dtype)
torch.narrow(gradient, dim, start, length).copy_(grad)
return gradient`,
  },
  ...forOverloads(
    `split.Tensor split.sizes split split_with_sizes unsafe_split.Tensor unsafe_split_with_sizes chunk unsafe_chunk split_copy.Tensor split_with_sizes_copy
    tensor_split.sections tensor_split.indices tensor_split.tensor_indices_or_sections`
      .split(/\s+/)
      .join(' '),
    { self: 'torch.cat(grads, dim)' },
  ),
  ...forOverloads('unbind.int unbind_copy.int', { self: 'torch.stack(grads, dim)' }),
  ...forOverloads('hsplit.int hsplit.array', { self: 'torch.cat(grads, 0 if len(self.size()) == 1 else 1)' }),
  ...forOverloads('vsplit.int vsplit.array', { self: 'torch.cat(grads, 0)' }),
  ...forOverloads('dsplit.int dsplit.array', { self: 'torch.cat(grads, 2)' }),
  ...forOverloads('unfold unfold_copy', { self: 'torch.unfold_backward(grad, self.size(), dimension, size, step)' }),
  ...forOverloads('diagonal diagonal_copy', { self: 'torch.diagonal_backward(grad, self.size(), offset, dim1, dim2)' }),
  linalg_diagonal: { A: 'torch.diagonal_backward(grad, A.size(), offset, dim1, dim2)' },
  ...forOverloads('as_strided as_strided_copy', {
    self: 'strided_slope(grad, self.size(), self.stride(), self.storage_offset(), size, stride, storage_offset)',
  }),
  ...inPlaceViews,
  ...forOverloads('cat concat concatenate', {
    tensors: `
parts: List[Tensor] = []
begin = 0
for tensor in tensors:
    if tensor.dim() == 1 and tensor.size(0) == 0 and grad.dim() != 1:
        parts.append(torch.zeros_like(tensor))
    else:
        length = tensor.size(dim)
        parts.append(torch.narrow(grad, dim, begin, length))
        begin += length
return parts`,
  }),
  _chunk_cat: {
    '=': `
parts: List[Tensor] = []
axis = dim if dim >= 0 else dim + tensors[0].dim()
for tensor in tensors:
    size = tensor.size(axis)
    each = (size + num_chunks - 1) // num_chunks
    margins = [0] * (2 * (tensor.dim() - axis - 1)) + [0, each * num_chunks - size]
    padded = torch.constant_pad_nd(tensor, margins, 0)
    parts.append(padded.reshape(tensor.size()[:axis] + [num_chunks, -1]))
return torch.cat(parts, axis + 1)`,
  },
  ...forOverloads('stack _stack', { tensors: 'torch.unbind(grad, dim)' }),
  ...forOverloads('hstack', {
    '=': 'torch.cat([torch.atleast_1d(t) for t in tensors], 0 if torch.atleast_1d(tensors[0]).dim() == 1 else 1)',
  }),
  ...forOverloads('vstack row_stack', { '=': 'torch.cat([torch.atleast_2d(t) for t in tensors], 0)' }),
  dstack: { '=': 'torch.cat([torch.atleast_3d(t) for t in tensors], 2)' },
  column_stack: {
    '=': 'torch.cat([t.reshape([t.numel(), 1]) if t.dim() <= 1 else t for t in tensors], 1)',
  },
  ...forOverloads('atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence', {
    tensors: 'reshaped_like(grads, tensors)',
  }),
  ...forOverloads('meshgrid meshgrid.indexing', {
    tensors: 'mesh_slopes(grads, tensors)',
  }),
  broadcast_tensors: {
    tensors: `
parts: List[Tensor] = []
for at in range(len(tensors)):
    parts.append(torch.sum_to_size(grads[at], tensors[at].size()))
return parts`,
  },
  block_diag: {
    tensors: `
parts: List[Tensor] = []
row = 0
column = 0
for tensor in tensors:
    matrix = torch.atleast_2d(tensor)
    part = torch.narrow(torch.narrow(grad, 0, row, matrix.size(0)), 1, column, matrix.size(1))
    parts.append(part.reshape(tensor.size()))
    row += matrix.size(0)
    column += matrix.size(1)
return parts`,
  },
  flip: { self: 'torch.flip(grad, dims)' },
  fliplr: { self: 'torch.flip(grad, [1])' },
  flipud: { self: 'torch.flip(grad, [0])' },
  roll: {
    self: 'torch.reshape(torch.roll(grad if len(dims) > 0 else grad.reshape([-1]), [-s for s in shifts], dims), self.size())',
  },
  rot90: { self: 'torch.rot90(grad, -k, dims)' },
  ...forOverloads('repeat', { self: 'repeat_slope(grad, self.size(), repeats)' }),
  tile: {
    self: `
counts = [1] * (self.dim() - len(dims)) + dims if len(dims) < self.dim() else dims
return repeat_slope(grad, self.size(), counts)`,
  },
  'repeat_interleave.self_int': {
    self: `
if dim is None:
    return torch.sum(grad.reshape([self.numel(), repeats]), [1]).reshape(self.size())
axis = wrap(dim, self.dim())
return torch.sum(torch.unflatten(grad, axis, [self.size(axis), repeats]), [axis + 1])`,
  },
  'repeat_interleave.self_Tensor': {
    self: `
axis = 0 if dim is None else wrap(dim, self.dim())
count = self.numel() if dim is None else self.size(axis)
places = torch.repeat_interleave(torch.arange(count), torch.expand(repeats.reshape([-1]), [count]), 0)
base = torch.zeros([count] if dim is None else self.size(), dtype=grad.dtype)
return torch.reshape(torch.index_add(base, axis, places, grad), self.size())`,
  },
  tril: { self: 'torch.tril(grad, diagonal)' },
  triu: { self: 'torch.triu(grad, diagonal)' },
  diag: {
    self: `
if self.dim() == 1:
    return torch.diagonal(grad, diagonal, 0, 1)
return torch.diagonal_backward(grad, self.size(), diagonal, 0, 1)`,
  },
  diag_embed: { self: 'torch.diagonal(grad, offset, dim1, dim2)' },
  diagflat: { self: 'torch.reshape(torch.diagonal(grad, offset, 0, 1), self.size())' },
  constant_pad_nd: { self: 'torch.constant_pad_nd(grad, [-p for p in pad], 0)' },
  pad: {
    '=': `
if mode == "constant":
    return torch.constant_pad_nd(self, pad, 0. if value is None else value)
if mode == "circular":
    return torch._pad_circular(self, pad)
if mode == "reflect":
    if len(pad) == 2:
        return torch.reflection_pad1d(self, pad)
    return torch.reflection_pad2d(self, pad) if len(pad) == 4 else torch.reflection_pad3d(self, pad)
if len(pad) == 2:
    return torch.replication_pad1d(self, pad)
return torch.replication_pad2d(self, pad) if len(pad) == 4 else torch.replication_pad3d(self, pad)`,
  },
  ...forOverloads('reflection_pad1d reflection_pad2d reflection_pad3d', {
    self: 'padding_slope(grad, self.size(), padding, "reflect")',
    '~': 'self',
  }),
  ...forOverloads('replication_pad1d replication_pad2d replication_pad3d', {
    self: 'padding_slope(grad, self.size(), padding, "replicate")',
    '~': 'self',
  }),
  _pad_circular: { self: 'padding_slope(grad, self.size(), pad, "circular")' },
  select_scatter: {
    self: `
gradient = grad.clone()
torch.select(gradient, dim, index).fill_(0)
return gradient`,
    src: 'torch.select(grad, dim, index)',
  },
  slice_scatter: {
    self: `
gradient = grad.clone()
torch.slice(gradient, dim, start, end, step).fill_(0)
return gradient`,
    src: 'torch.slice(grad, dim, start, end, step)',
  },
  diagonal_scatter: {
    self: `
gradient = grad.clone()
torch.diagonal(gradient, offset, dim1, dim2).fill_(0)
return gradient`,
    src: 'torch.diagonal(grad, offset, dim1, dim2)',
  },
  // Of what it is given it has a gradient where the other tensor is put, as in PyTorch.
  as_strided_scatter: {
    self: `
gradient = torch.zeros(self.size(), dtype=grad.dtype)
torch.as_strided(gradient, size, stride, storage_offset).copy_(torch.as_strided(grad.contiguous(), size, stride, storage_offset))
return gradient`,
    src: 'torch.as_strided(grad.contiguous(), size, stride, storage_offset)',
  },
  as_tensor: { data: 'grad' },
  'normal.Tensor_Tensor': { mean: 'torch.zeros_like(grad)', std: 'torch.zeros_like(grad)' },
  'normal.Tensor_float': { mean: 'torch.zeros_like(grad)' },
  'normal.float_Tensor': { std: 'torch.zeros_like(grad)' },
  poisson: { self: 'torch.zeros_like(grad)' },
  ...forOverloads('copy_ copy', { self: 'torch.zeros_like(grad)', src: 'grad' }),
  'copy_.Tensor': { self: 'torch.zeros_like(grad)', other: 'grad' },
  ...forOverloads(
    'copy_.int copy_.float zero_ zero fill_.Scalar fill.Scalar uniform normal_ bernoulli bernoulli.p bernoulli_.float bernoulli.Tensor random random.from random.to exponential geometric cauchy log_normal',
    {
      self: 'torch.zeros_like(grad)',
    },
  ),
  ...forOverloads('fill_.Tensor fill.Tensor', { self: 'torch.zeros_like(grad)', value: 'torch.sum(grad)' }),
  pixel_shuffle: { self: 'torch.pixel_unshuffle(grad, upscale_factor)' },
  pixel_unshuffle: { self: 'torch.pixel_shuffle(grad, downscale_factor)' },
  ...forOverloads('channel_shuffle native_channel_shuffle', {
    self: 'torch.channel_shuffle(grad, self.size(1) // groups)',
  }),
};
