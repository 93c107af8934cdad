/** TorchScript functions that formulas call, by name. */
export const derivativeHelpers: Readonly<Record<string, string>> = {
  power_is_positive: `
def power_is_positive(exponent):
    if exponent.is_complex():
        return torch.logical_and(torch.imag(exponent) == 0, torch.real(exponent) >= 0)
    return exponent >= 0`,
  along_channels: `
def along_channels(weight, input):
    if weight.numel() == 1 or input.dim() < 2:
        return weight
    return weight.reshape([1, weight.numel()] + [1] * (input.dim() - 2))`,
  softmax_slope: `
def softmax_slope(grad, result, dim: int):
    product = grad * result
    return product - result * torch.sum(product, [dim], True)`,
  wrap: `
def wrap(dim: int, rank: int) -> int:
    return dim if dim >= 0 else dim + (rank if rank > 0 else 1)`,
  unsqueezed: `
def unsqueezed(x, dims: Optional[List[int]], rank: int, keepdim: bool):
    if keepdim or rank == 0:
        return x
    if dims is None or len(dims) == 0:
        return x.reshape([1] * rank) if x.dim() == 0 else x
    reduced = [False] * rank
    for dim in dims:
        reduced[wrap(dim, rank)] = True
    for dim in range(rank):
        if reduced[dim]:
            x = x.unsqueeze(dim)
    return x`,
  reduced_count: `
def reduced_count(size: List[int], dims: Optional[List[int]]) -> int:
    count = 1
    if dims is None or len(dims) == 0:
        for length in size:
            count *= length
        return count
    for dim in dims:
        if len(size) > 0:
            count *= size[dim]
    return count`,
  all_equal_share: `
def all_equal_share(grad, equal, dims: Optional[List[int]]):
    shared = equal.to(grad.dtype)
    if dims is None or len(dims) == 0:
        return grad * shared / torch.sum(shared)
    return grad * shared / torch.sum(shared, dims, True)`,
  variance_slope: `
def variance_slope(grad, self, dims: Optional[List[int]], correction: float, keepdim: bool):
    given = unsqueezed(grad, dims, self.dim(), keepdim)
    freedom = float(reduced_count(self.size(), dims)) - correction
    mean = torch.mean(self) if dims is None or len(dims) == 0 else torch.mean(self, dims, True)
    centred = self - mean
    if freedom <= 0.:
        return given * torch.where(centred == 0, torch.full_like(centred, float("nan")), torch.full_like(centred, float("inf")))
    return given * centred * (2. / freedom)`,
  norm_slope: `
def norm_slope(grad, self, p: Optional[number], result, dims: Optional[List[int]], keepdim: bool):
    order = 2. if p is None else float(torch._unwrap_optional(p))
    given = unsqueezed(grad, dims, self.dim(), keepdim)
    length = unsqueezed(result, dims, self.dim(), keepdim)
    if order == 0.:
        return torch.zeros_like(self)
    if order == 1.:
        return torch.sgn(self) * given
    if order == 2.:
        return given * torch.masked_fill(self / length, length == 0, 0)
    if order == float("inf") or order == -float("inf"):
        size = torch.abs(self)
        equal = torch.logical_or(size == length, torch.isnan(size))
        return torch.sgn(self) * all_equal_share(given, equal, dims)
    if order < 1.:
        scaled = torch.sgn(self) * torch.masked_fill(torch.pow(torch.abs(self), order - 1.), self == 0, 0)
        return scaled * given * torch.pow(length, 1. - order)
    if order < 2.:
        scaled = torch.sgn(self) * torch.pow(torch.abs(self), order - 1.)
        return scaled * torch.masked_fill(given / torch.pow(length, order - 1.), length == 0, 0)
    scaled = self * torch.pow(torch.abs(self), order - 2.)
    return scaled * torch.masked_fill(given / torch.pow(length, order - 1.), length == 0, 0)`,
  product_slope: `
def product_slope(grad, self, result):
    if self.dim() == 0:
        return grad
    flat = self.reshape([-1])
    return product_of_others(grad.reshape([1]), flat, 0).reshape(self.size())`,
  product_slope_along: `
def product_slope_along(grad, self, result, dim: int, keepdim: bool):
    if self.dim() == 0:
        return grad
    return product_of_others(grad if keepdim else grad.unsqueeze(dim), self, dim)`,
  product_of_others: `
def product_of_others(grad, self, dim: int):
    length = self.size(dim)
    if length == 0:
        return torch.zeros_like(self)
    ones = torch.ones_like(torch.narrow(self, dim, 0, 1))
    before = torch.cumprod(torch.cat([ones, torch.narrow(self, dim, 0, length - 1)], dim), dim)
    behind = torch.cat([ones, torch.flip(torch.narrow(self, dim, 1, length - 1), [dim])], dim)
    after = torch.flip(torch.cumprod(behind, dim), [dim])
    return grad * torch.conj(before * after)`,
  cumulative_product_slope: `
def cumulative_product_slope(grad, self, dim: int, result):
    if self.dim() == 0:
        return grad
    length = self.size(dim)
    if length == 0 or not bool(torch.any(self == 0)):
        weighted = torch.conj(result) * grad
        return torch.flip(torch.cumsum(torch.flip(weighted, [dim]), dim), [dim]) / torch.conj(self)
    parts: List[Tensor] = []
    ones = torch.ones_like(torch.narrow(self, dim, 0, 1))
    for at in range(length):
        prefix = ones if at == 0 else torch.narrow(result, dim, at - 1, 1)
        rest = torch.cat([prefix, torch.narrow(self, dim, at + 1, length - at - 1)], dim)
        products = torch.cumprod(rest, dim)
        parts.append(torch.sum(torch.narrow(grad, dim, at, length - at) * torch.conj(products), [dim], True))
    return torch.cat(parts, dim)`,
  reshaped_like: `
def reshaped_like(grads: List[Tensor], tensors: List[Tensor]):
    parts: List[Tensor] = []
    for at in range(len(tensors)):
        parts.append(grads[at].reshape(tensors[at].size()))
    return parts`,
  others_of: `
def others_of(dims: List[int], rank: int):
    others: List[int] = []
    for d in range(rank):
        if d not in dims:
            others.append(d)
    return others`,
  mesh_slopes: `
def mesh_slopes(grads: List[Tensor], tensors: List[Tensor]):
    parts: List[Tensor] = []
    swapped = len(tensors) > 1 and grads[0].dim() > 1 and grads[0].size(0) != tensors[0].numel()
    for at in range(len(tensors)):
        axis = (1 - at) if swapped and at < 2 else at
        others = others_of([axis], grads[at].dim())
        sums = torch.sum(grads[at], others) if len(others) > 0 else grads[at]
        parts.append(sums.reshape(tensors[at].size()))
    return parts`,
  repeat_slope: `
def repeat_slope(grad, size: List[int], repeats: List[int]):
    if len(repeats) == 0:
        return grad
    full: List[int] = []
    summed: List[int] = []
    new = len(repeats) - len(size)
    for at in range(len(repeats)):
        length = 1 if at < new else size[at - new]
        if repeats[at] == 0:
            return torch.zeros(size, dtype=grad.dtype)
        summed.append(2 * at)
        full.append(repeats[at])
        full.append(length)
    return torch.sum(grad.reshape(full), summed).reshape(size)`,
  padding_slope: `
def padding_slope(grad, size: List[int], pad: List[int], mode: str):
    rank = len(size)
    result = grad
    for at in range(len(pad) // 2):
        dim = rank - 1 - at
        length = size[dim]
        places = torch.arange(-pad[2 * at], length + pad[2 * at + 1])
        if mode == "reflect":
            places = (length - 1) - torch.abs((length - 1) - torch.abs(places))
        elif mode == "replicate":
            places = torch.clamp(places, 0, length - 1)
        else:
            places = torch.remainder(places, length)
        shape = result.size()
        shape[dim] = length
        result = torch.index_add(torch.zeros(shape, dtype=grad.dtype), dim, places, result)
    return result`,
  matmul_left_slope: `
def matmul_left_slope(grad, size: List[int], other):
    conjugate = torch.conj(other)
    if len(size) == 1 and other.dim() == 1:
        return grad * conjugate
    if len(size) == 1:
        return torch.sum_to_size(torch.matmul(grad.unsqueeze(-2), torch.transpose(conjugate, -2, -1)).squeeze(-2), size)
    if other.dim() == 1:
        return torch.sum_to_size(grad.unsqueeze(-1) * conjugate, size)
    return torch.sum_to_size(torch.matmul(grad, torch.transpose(conjugate, -2, -1)), size)`,
  matmul_right_slope: `
def matmul_right_slope(grad, self, size: List[int]):
    conjugate = torch.conj(self)
    if self.dim() == 1 and len(size) == 1:
        return grad * conjugate
    if self.dim() == 1:
        return torch.sum_to_size(conjugate.unsqueeze(-1) * grad.unsqueeze(-2), size)
    if len(size) == 1:
        rows = conjugate.reshape([-1, self.size(-1)])
        return torch.mv(torch.transpose(rows, 0, 1), grad.reshape([-1]))
    if len(size) == 2:
        rows = conjugate.reshape([-1, self.size(-1)])
        return torch.mm(torch.transpose(rows, 0, 1), grad.reshape([-1, grad.size(-1)]))
    return torch.sum_to_size(torch.matmul(torch.transpose(conjugate, -2, -1), grad), size)`,
  along_slope: `
def along_slope(grad, size: List[int], dim: int, indices):
    if len(size) == 0:
        return grad.reshape(size)
    return torch.scatter_add(torch.zeros(size, dtype=grad.dtype), dim, indices, grad)`,
  value_slope: `
def value_slope(grad, size: List[int], dim: int, indices, keepdim: bool):
    if len(size) == 0:
        return grad.reshape(size)
    given = grad if keepdim else grad.unsqueeze(dim)
    places = indices if keepdim else indices.unsqueeze(dim)
    return torch.scatter(torch.zeros(size, dtype=grad.dtype), dim, places, given)`,
  gathered_into: `
def gathered_into(grad, dim: int, index, size: List[int]):
    found = torch.gather(grad, dim, index)
    for d in range(len(size)):
        if size[d] != found.size(d):
            shape = found.size()
            shape[d] = size[d] - found.size(d)
            found = torch.cat([found, torch.zeros(shape, dtype=grad.dtype)], d)
    return found`,
  spread_index: `
def spread_index(index, source, dim: int):
    if source.dim() == 0:
        return index.reshape(source.size())
    shape = [1] * source.dim()
    shape[dim] = index.numel()
    return torch.expand(index.reshape(shape), source.size())`,
  named_reduction: `
def named_reduction(reduce: str) -> str:
    return "sum" if reduce == "add" else "prod"`,
  scaled_places: `
def scaled_places(grad, dim: int, index, value: float):
    factors = torch.ones_like(grad)
    return torch.scatter(factors, dim, index, value, reduce="multiply")`,
  scatter_reduction_slope: `
def scatter_reduction_slope(grad, self, dim: int, index, src, reduce: str, include_self: bool, result):
    zeros = torch.zeros_like(grad)
    kept = torch.ones_like(grad) if include_self else torch.scatter(torch.ones_like(grad), dim, index, 0)
    part = src
    for d in range(src.dim()):
        if src.size(d) != index.size(d):
            part = torch.narrow(part, d, 0, index.size(d))
    given = torch.gather(grad, dim, index)
    if reduce == "sum":
        return grad * kept, padded_after(given, src.size())
    if reduce == "mean":
        counts = torch.scatter_add(kept, dim, index, torch.ones_like(part))
        counts = torch.clamp_min(counts, 1)
        return grad * kept / counts, padded_after(given / torch.gather(counts, dim, index), src.size())
    if reduce == "prod":
        start = torch.where(kept == 0, torch.ones_like(self), self)
        nothing = part == 0
        zero_counts = torch.scatter_add(zeros, dim, index, nothing.to(grad.dtype))
        others = torch.scatter_reduce(start, dim, index, torch.where(nothing, torch.ones_like(part), part), "prod", include_self=True)
        own = torch.scatter_reduce(torch.ones_like(self), dim, index, part, "prod", include_self=True)
        without = torch.where(nothing, torch.where(torch.gather(zero_counts, dim, index) == 1, torch.gather(others, dim, index), torch.zeros_like(part)), torch.gather(result, dim, index) / torch.where(nothing, torch.ones_like(part), part))
        return grad * own * kept, padded_after(given * without, src.size())
    start_equal = torch.logical_and(self == result, kept != 0).to(grad.dtype)
    equal = (part == torch.gather(result, dim, index)).to(grad.dtype)
    shares = torch.scatter_add(start_equal, dim, index, equal)
    each = grad / torch.clamp_min(shares, 1)
    untouched = torch.scatter(torch.ones_like(grad), dim, index, 0)
    own = torch.where(untouched != 0, grad, each * start_equal)
    return own, padded_after(torch.gather(each, dim, index) * equal, src.size())`,
  padded_after: `
def padded_after(found, size: List[int]):
    for d in range(len(size)):
        if size[d] != found.size(d):
            shape = found.size()
            shape[d] = size[d] - found.size(d)
            found = torch.cat([found, torch.zeros(shape, dtype=found.dtype)], d)
    return found`,
  bag_slopes: `
def bag_slopes(grad, weight, indices, offsets, scale_grad_by_freq: bool, mode: int, per_sample_weights: Optional[Tensor], include_last_offset: bool, padding_idx: Optional[int]):
    flat = indices.reshape([-1])
    if indices.dim() == 2:
        bags = torch.arange(indices.size(0)).repeat_interleave(indices.size(1))
        count = indices.size(0)
    else:
        count = offsets.size(0) - 1 if include_last_offset else offsets.size(0)
        bags = torch.searchsorted(torch.narrow(offsets, 0, 0, count), torch.arange(flat.size(0)), right=True) - 1
    kept = torch.ones([flat.size(0)], dtype=grad.dtype)
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else padding_idx
        kept = (flat != padding).to(grad.dtype)
    rows = torch.index_select(grad, 0, bags)
    sample_slope = torch.sum(rows * torch.index_select(weight, 0, flat), [1]) * kept
    if mode == 2:
        chosen = torch.index_select(weight, 0, flat)
        shape = [count, weight.size(1)]
        places = bags.unsqueeze(1).expand_as(chosen)
        low = torch.where(kept.unsqueeze(1) != 0, chosen, torch.full_like(chosen, -float("inf")))
        best = torch.scatter_reduce(torch.zeros(shape, dtype=grad.dtype), 0, places, low, "amax", include_self=False)
        hit = torch.logical_and(low == torch.index_select(best, 0, bags), kept.unsqueeze(1) != 0)
        order = torch.arange(flat.size(0)).unsqueeze(1).expand_as(chosen)
        late = torch.full_like(order, flat.size(0))
        first = torch.scatter_reduce(torch.full(shape, flat.size(0), dtype=order.dtype), 0, places, torch.where(hit, order, late), "amin", include_self=True)
        rows = torch.where(order == torch.index_select(first, 0, bags), rows, torch.zeros_like(rows))
    else:
        rows = rows * kept.unsqueeze(1)
        if mode == 1:
            sizes = torch.index_add(torch.zeros([count], dtype=grad.dtype), 0, bags, kept)
            rows = rows / torch.index_select(torch.clamp_min(sizes, 1), 0, bags).unsqueeze(1)
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.reshape([-1, 1])
    if scale_grad_by_freq:
        frequencies = torch.bincount(flat, None, weight.size(0))
        rows = rows / torch.index_select(frequencies, 0, flat).unsqueeze(1)
    return torch.index_add(torch.zeros_like(weight), 0, flat, rows), sample_slope.reshape(indices.size())`,
  convolution_slopes: `
def convolution_slopes(grad, input, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, wanted: List[bool]):
    rank = weight.dim() - 2
    batched = input.dim() == weight.dim()
    given = grad if batched else grad.unsqueeze(0)
    taken = input if batched else input.unsqueeze(0)
    sizes: Optional[List[int]] = None
    if bias is not None:
        sizes = bias.size()
    a, b, c = torch.convolution_backward(given, taken, weight, sizes, full_list(stride, rank, 1), full_list(padding, rank, 0), full_list(dilation, rank, 1), transposed, full_list(output_padding, rank, 0), groups, [wanted[0], wanted[1], wanted[2]])
    return a if batched or not wanted[0] else a.squeeze(0), b, c`,
  full_list: `
def full_list(values: List[int], rank: int, missing: int):
    if len(values) == 0:
        return [missing] * rank
    if len(values) == 1:
        return values * rank
    return values`,
  place_slope: `
def place_slope(grad, size: List[int], places, rank: int):
    plane = 1
    lead: List[int] = []
    for d in range(len(size)):
        if d < len(size) - rank:
            lead.append(size[d])
        else:
            plane *= size[d]
    flat = torch.zeros(lead + [plane], dtype=grad.dtype)
    windows = lead + [-1]
    return torch.scatter_add(flat, -1, places.reshape(windows), grad.reshape(windows)).reshape(size)`,
  average_pool_slope: `
def average_pool_slope(grad, size: List[int], kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor: Optional[int], rank: int):
    kernel = full_list(kernel_size, rank, 1)
    steps = kernel if len(stride) == 0 else full_list(stride, rank, 1)
    margins = full_list(padding, rank, 0)
    result = grad
    if divisor is not None:
        result = result / divisor
    for at in range(rank):
        d = len(size) - rank + at
        length = size[d]
        windows = grad.size(d)
        begin = torch.arange(windows) * steps[at] - margins[at]
        end = torch.clamp_max(begin + kernel[at], length + margins[at])
        full = end - begin
        first = torch.clamp_min(begin, 0)
        last = torch.clamp_max(end, length)
        place = torch.arange(length)
        inside = torch.logical_and(place.unsqueeze(0) >= first.unsqueeze(1), place.unsqueeze(0) < last.unsqueeze(1)).to(grad.dtype)
        if divisor is None:
            counts = full if count_include_pad else last - first
            inside = inside / counts.unsqueeze(1)
        result = torch.transpose(torch.matmul(torch.transpose(result, d, -1), inside), d, -1)
    return result`,
  adaptive_average_slope: `
def adaptive_average_slope(grad, size: List[int], rank: int):
    result = grad
    for at in range(rank):
        d = len(size) - rank + at
        length = size[d]
        windows = grad.size(d)
        which = torch.arange(windows)
        begin = torch.floor_divide(which * length, windows)
        end = -torch.floor_divide(-((which + 1) * length), windows)
        place = torch.arange(length)
        inside = torch.logical_and(place.unsqueeze(0) >= begin.unsqueeze(1), place.unsqueeze(0) < end.unsqueeze(1)).to(grad.dtype)
        inside = inside / (end - begin).unsqueeze(1)
        result = torch.transpose(torch.matmul(torch.transpose(result, d, -1), inside), d, -1)
    return result`,
  layer_statistics: `
def layer_statistics(input, normalized_shape: List[int], eps: float):
    dims = [-(d + 1) for d in range(len(normalized_shape))]
    mean = torch.mean(input, dims, True)
    centred = input - mean
    return mean, torch.rsqrt(torch.mean(centred * centred, dims, True) + eps)`,
  layer_slopes: `
def layer_slopes(grad, input, mean, deviation, weight: Optional[Tensor], normalized_shape: List[int]):
    dims = [-(d + 1) for d in range(len(normalized_shape))]
    normal = (input - mean) * deviation
    scaled = grad
    if weight is not None:
        scaled = grad * weight
    slope = deviation * (scaled - torch.mean(scaled, dims, True) - normal * torch.mean(scaled * normal, dims, True))
    return slope, torch.sum_to_size(grad * normal, normalized_shape), torch.sum_to_size(grad, normalized_shape)`,
  batch_norm_slopes: `
def batch_norm_slopes(grad, input, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, eps: float):
    shape = [1] * input.dim()
    shape[1] = input.size(1)
    dims = others_of([1], input.dim())
    if training or running_mean is None or running_var is None:
        mean = torch.mean(input, dims, True)
        centred = input - mean
        deviation = torch.rsqrt(torch.mean(centred * centred, dims, True) + eps)
    else:
        centred = input - running_mean.reshape(shape)
        deviation = torch.rsqrt(running_var.reshape(shape) + eps)
    normal = centred * deviation
    scaled = grad
    if weight is not None:
        scaled = grad * weight.reshape(shape)
    if training or running_mean is None or running_var is None:
        slope = deviation * (scaled - torch.mean(scaled, dims, True) - normal * torch.mean(scaled * normal, dims, True))
    else:
        slope = scaled * deviation
    return slope, torch.sum(grad * normal, dims), torch.sum(grad, dims)`,
  instance_norm_slopes: `
def instance_norm_slopes(grad, input, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, eps: float):
    if not use_input_stats:
        return batch_norm_slopes(grad, input, weight, running_mean, running_var, False, eps)
    shape = [1] * input.dim()
    shape[1] = input.size(1)
    dims = others_of([0, 1], input.dim())
    centred = input - torch.mean(input, dims, True)
    deviation = torch.rsqrt(torch.mean(centred * centred, dims, True) + eps)
    normal = centred * deviation
    scaled = grad
    if weight is not None:
        scaled = grad * weight.reshape(shape)
    slope = deviation * (scaled - torch.mean(scaled, dims, True) - normal * torch.mean(scaled * normal, dims, True))
    every = [0] + dims
    return slope, torch.sum(grad * normal, every), torch.sum(grad, every)`,
  group_norm_slopes: `
def group_norm_slopes(grad, input, weight: Optional[Tensor], groups: int, eps: float):
    grouped = input.reshape([input.size(0), groups, -1])
    centred = grouped - torch.mean(grouped, [2], True)
    deviation = torch.rsqrt(torch.mean(centred * centred, [2], True) + eps)
    normal = centred * deviation
    shape = [1] * grad.dim()
    shape[1] = input.numel() // input.size(0) if grad.dim() < 2 else grad.size(1)
    scaled = grad
    if weight is not None:
        scaled = grad * weight.reshape(shape)
    scaled = scaled.reshape(grouped.size())
    slope = deviation * (scaled - torch.mean(scaled, [2], True) - normal * torch.mean(scaled * normal, [2], True))
    dims = others_of([1], grad.dim())
    return slope.reshape(input.size()), torch.sum(grad * normal.reshape(grad.size()), dims), torch.sum(grad, dims)`,
  class_loss_slope: `
def class_loss_slope(grad, self, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    axis = 0 if self.dim() == 1 else 1
    labels = target.unsqueeze(axis)
    kept = labels != ignore_index
    places = torch.where(kept, labels, torch.zeros_like(labels))
    weights = kept.to(self.dtype)
    if weight is not None:
        weights = weights * torch.index_select(weight, 0, places.reshape([-1])).reshape(places.size())
    given = grad
    if reduction == 1:
        given = grad / torch.sum(weights)
    elif reduction == 0:
        given = grad.unsqueeze(axis)
    return torch.scatter(torch.zeros_like(self), axis, places, -weights * given)`,
  multilabel_margins: `
def multilabel_margins(self, target):
    given = self.unsqueeze(0) if self.dim() < 2 else self
    labels = target.unsqueeze(0) if self.dim() < 2 else target
    listed = torch.cumprod((labels >= 0).to(self.dtype), 1)
    places = torch.clamp_min(labels, 0)
    hits = torch.clamp_max(torch.scatter_add(torch.zeros_like(given), 1, places, listed), 1)
    chosen = torch.gather(given, 1, places)
    margins = torch.clamp_min(1 - chosen.unsqueeze(2) + given.unsqueeze(1), 0)
    loss = torch.sum(margins * listed.unsqueeze(2) * (1 - hits).unsqueeze(1), [1, 2]) / given.size(1)
    return loss.reshape([]) if self.dim() < 2 else loss`,
  lengths_in: `
def lengths_in(lengths):
    found: List[int] = []
    for at in range(lengths.size(0)):
        found.append(int(lengths[at]))
    return found`,
  alignment_loss: `
def alignment_loss(steps, labels, blank: int):
    count = labels.size(0)
    blanks = torch.full([count + 1], blank, dtype=labels.dtype)
    if count > 0:
        spread = torch.cat([torch.stack([torch.narrow(blanks, 0, 0, count), labels], 1).reshape([-1]), torch.narrow(blanks, 0, count, 1)], 0)
    else:
        spread = blanks
    states = spread.size(0)
    never = torch.full([1], -float("inf"), dtype=steps.dtype)
    if steps.size(0) == 0:
        return torch.zeros([], dtype=steps.dtype) if count == 0 else -never.reshape([])
    scores = torch.index_select(steps, 1, spread)
    start = torch.narrow(scores[0], 0, 0, min(2, states))
    alpha = torch.cat([start, never.expand([states - start.size(0)])], 0)
    skips = torch.zeros([states], dtype=steps.dtype)
    if states > 2:
        differs = torch.narrow(spread, 0, 2, states - 2) != torch.narrow(spread, 0, 0, states - 2)
        skips = torch.cat([torch.zeros([2], dtype=steps.dtype), differs.to(steps.dtype)], 0)
    for at in range(1, steps.size(0)):
        one = torch.cat([never, torch.narrow(alpha, 0, 0, states - 1)], 0)
        two = torch.cat([never, torch.narrow(one, 0, 0, states - 1)], 0)
        two = torch.where(skips != 0, two, never)
        alpha = torch.logsumexp(torch.stack([alpha, one, two], 0), [0]) + scores[at]
    ends = torch.narrow(alpha, 0, max(states - 2, 0), min(2, states))
    return -torch.logsumexp(ends, [0])`,
};
