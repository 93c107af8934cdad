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
  turned: `
def turned(matrix):
    return torch.conj(torch.transpose(matrix, -2, -1))`,
  cholesky_slope: `
def cholesky_slope(grad, result, upper: bool):
    lower = turned(result) if upper else result
    slope = turned(grad) if upper else grad
    half = torch.tril(torch.matmul(turned(lower), slope))
    half = half - torch.diag_embed(torch.diagonal(half, 0, -2, -1)) * 0.5
    found = torch.linalg_solve_triangular(turned(lower), half, upper=True)
    found = torch.linalg_solve_triangular(lower, found, upper=False, left=False)
    return (found + turned(found)) * 0.5`,
  solution_slopes: `
def solution_slopes(grad, A, result, size: List[int], left: bool):
    isVector = len(size) == 1 or (A.dim() - 1 == len(size) and size == A.size()[:-1])
    given = grad.unsqueeze(-1) if isVector else grad
    found = result.unsqueeze(-1) if isVector else result
    right = torch.linalg_solve(turned(A), given, left=left)
    slope = -torch.matmul(right, turned(found)) if left else -torch.matmul(turned(found), right)
    return slope, right.squeeze(-1) if isVector else right`,
  gaps_between: `
def gaps_between(values):
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + torch.eye(values.size(-1), dtype=values.dtype)`,
  hermitian_slope: `
def hermitian_slope(grad, grad1, values, vectors):
    inner = torch.matmul(turned(vectors), grad1) / gaps_between(values)
    inner = inner - torch.diag_embed(torch.diagonal(inner, 0, -2, -1)) + torch.diag_embed(grad).to(inner.dtype)
    return torch.matmul(vectors, torch.matmul(inner, turned(vectors)))`,
  eigen_slope: `
def eigen_slope(grad, grad1, values, vectors):
    inner = torch.matmul(turned(vectors), grad1)
    lengths = torch.real(torch.diagonal(inner, 0, -2, -1))
    inner = inner - torch.matmul(turned(vectors), vectors) * lengths.unsqueeze(-2)
    inner = inner / torch.conj(gaps_between(values))
    inner = inner - torch.diag_embed(torch.diagonal(inner, 0, -2, -1)) + torch.diag_embed(grad)
    return torch.linalg_solve(turned(vectors), torch.matmul(inner, turned(vectors)))`,
  singular_slope: `
def singular_slope(grad, grad1, grad2, U, S, Vh):
    k = S.size(-1)
    left = torch.narrow(U, -1, 0, k)
    right = torch.narrow(Vh, -2, 0, k)
    gl = torch.narrow(grad, -1, 0, k)
    gr = torch.narrow(grad2, -2, 0, k)
    squares = S * S
    gaps = gaps_between(squares)
    own = torch.matmul(turned(left), gl)
    other = torch.matmul(right, turned(gr))
    inner = (own - turned(own)) / gaps * S.unsqueeze(-2) + S.unsqueeze(-1) * ((other - turned(other)) / gaps)
    if inner.is_complex():
        turning = torch.diagonal(own, 0, -2, -1)
        inner = inner + torch.diag_embed((turning - torch.conj(turning)) / (2 * S))
    inner = inner + torch.diag_embed(grad1).to(inner.dtype)
    slope = torch.matmul(left, inner)
    if U.size(-2) > k:
        slope = slope + (gl - torch.matmul(left, own)) / S.unsqueeze(-2)
    slope = torch.matmul(slope, right)
    if Vh.size(-1) > k:
        rest = gr - torch.matmul(torch.matmul(gr, turned(right)), right)
        slope = slope + torch.matmul(left / S.unsqueeze(-2), rest)
    return slope`,
  orthogonal_slope: `
def orthogonal_slope(grad, grad1, A, Q, R, isComplete: bool):
    m = A.size(-2)
    n = A.size(-1)
    assert not isComplete or m <= n, "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
    assert Q.numel() > 0 or A.numel() == 0, "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to require gradients"
    if m >= n:
        return square_orthogonal_slope(grad, grad1, Q, R)
    rest = torch.narrow(A, -1, m, n - m)
    above = torch.narrow(grad1, -1, 0, m)
    beside = torch.narrow(grad1, -1, m, n - m)
    first = square_orthogonal_slope(grad + torch.matmul(rest, turned(beside)), above, Q, torch.narrow(R, -1, 0, m))
    return torch.cat([first, torch.matmul(Q, beside)], -1)`,
  square_orthogonal_slope: `
def square_orthogonal_slope(grad, grad1, Q, R):
    inner = torch.triu(torch.matmul(grad1, turned(R)) - torch.matmul(turned(Q), grad))
    both = inner + turned(inner)
    middle = torch.diagonal(both, 0, -2, -1)
    both = both - torch.diag_embed(middle) * 0.5
    slope = torch.matmul(Q, both) + grad
    return torch.linalg_solve_triangular(turned(R), slope, upper=False, left=False)`,
  pseudo_inverse_slope: `
def pseudo_inverse_slope(grad, inverse, A):
    back = turned(inverse)
    given = turned(grad)
    if A.size(-2) <= A.size(-1):
        k = torch.matmul(given, inverse)
        kb = torch.matmul(k, back)
        return -turned(torch.matmul(inverse, k)) + kb - torch.matmul(torch.matmul(A, inverse), kb) + torch.matmul(torch.matmul(back, inverse), given - torch.matmul(k, A))
    k = torch.matmul(inverse, given)
    bk = torch.matmul(back, k)
    return -turned(torch.matmul(k, inverse)) + torch.matmul(torch.matmul(given - torch.matmul(A, k), inverse), back) + bk - torch.matmul(torch.matmul(bk, inverse), A)`,
  nuclear: `
def nuclear(self, dims: List[int], keepdim: bool):
    rank = self.dim()
    moved = torch.movedim(self, dims, [-2, -1])
    total = torch.sum(torch.linalg_svd(moved, False)[1], [-1])
    return unsqueezed(total, dims, rank, False) if keepdim else total`,
  matrix_norm: `
def matrix_norm(self, order: float, dims: List[int], keepdim: bool):
    rank = self.dim()
    if order == 2. or order == -2.:
        values = torch.linalg_svd(torch.movedim(self, dims, [-2, -1]), False)[1]
        found = torch.amax(values, [-1]) if order > 0. else torch.amin(values, [-1])
    else:
        rows = wrap(dims[0], rank)
        columns = wrap(dims[1], rank)
        summed = rows if abs(order) == 1. else columns
        kept = columns if abs(order) == 1. else rows
        sums = torch.sum(torch.abs(self), [summed], True)
        found = torch.amax(sums, [kept], True) if order > 0. else torch.amin(sums, [kept], True)
        found = found.reshape([self.size(d) for d in others_of([rows, columns], rank)])
    return unsqueezed(found, dims, rank, False) if keepdim else found`,
  reflected: `
def reflected(vectors, tau):
    m = vectors.size(-2)
    n = vectors.size(-1)
    whole = torch.expand(torch.eye(m, dtype=vectors.dtype), vectors.size()[:-2] + [m, m])
    units = torch.eye(m, n, dtype=vectors.dtype)
    columns = torch.tril(vectors, -1) + units
    for at in range(tau.size(-1)):
        column = torch.narrow(columns, -1, at, 1)
        scaled = torch.matmul(whole, column) * torch.narrow(tau, -1, at, 1).unsqueeze(-1)
        whole = whole - torch.matmul(scaled, turned(column))
    return torch.narrow(whole, -1, 0, n)`,
  distance_slopes: `
def distance_slopes(grad, x1, x2, p: float, result):
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    slope = norm_slope(grad, apart, p, result, [-1], False)
    return torch.sum_to_size(torch.sum(slope, [-2]), x1.size()), torch.sum_to_size(-torch.sum(slope, [-3]), x2.size())`,
  fitted_to: `
def fitted_to(x, dim: int, length: int):
    own = x.size(dim)
    if own >= length:
        return torch.narrow(x, dim, 0, length)
    shape = x.size()
    shape[dim] = length - own
    return torch.cat([x, torch.zeros(shape, dtype=x.dtype)], dim)`,
  turned_norm: `
def turned_norm(norm: Optional[str]) -> str:
    if norm is None or norm == "backward":
        return "forward"
    return "backward" if norm == "forward" else "ortho"`,
  real_transform_slope: `
def real_transform_slope(grad, n: int, dim: int, norm: Optional[str], length: int, isInverse: bool):
    whole = fitted_to(grad, dim, n)
    if isInverse:
        back = torch.fft_fft(whole, n, dim, turned_norm(norm))
    else:
        back = torch.fft_ifft(whole, n, dim, turned_norm(norm))
    return fitted_to(torch.real(back), dim, length)`,
  halved_transform_slope: `
def halved_transform_slope(grad, dim: int, norm: Optional[str], length: int, isHermitian: bool):
    n = grad.size(dim)
    half = torch.fft_rfft(grad, n, dim, turned_norm(norm) if not isHermitian else norm)
    if isHermitian:
        half = torch.conj(half)
    middle = n - half.size(dim)
    if middle > 0:
        first = torch.narrow(half, dim, 0, 1)
        twice = torch.narrow(half, dim, 1, middle) * 2
        last = torch.narrow(half, dim, 1 + middle, half.size(dim) - 1 - middle)
        half = torch.cat([first, twice, last], dim)
    return fitted_to(half, dim, length)`,
  several_transforms: `
def several_transforms(self, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], name: str):
    dims = [d for d in range(self.dim())]
    if dim is not None:
        dims = dim
    elif s is not None:
        dims = [d - len(s) for d in range(len(s))]
    count = len(dims)
    result = self
    for at in range(count):
        which = count - 1 - at if name == "rfft" or name == "ihfft" else at
        d = dims[which]
        isHalf = which == count - 1
        n: Optional[int] = None
        if s is not None and s[which] != -1:
            n = s[which]
        if name == "fft" or (name == "rfft" and not isHalf) or (name == "hfft" and not isHalf):
            result = torch.fft_fft(result, n, d, norm)
        elif name == "ifft" or not isHalf:
            result = torch.fft_ifft(result, n, d, norm)
        elif name == "rfft":
            result = torch.fft_rfft(result, n, d, norm)
        elif name == "irfft":
            result = torch.fft_irfft(result, n, d, norm)
        elif name == "hfft":
            result = torch.fft_hfft(result, n, d, norm)
        else:
            result = torch.fft_ihfft(result, n, d, norm)
    return result`,
  short_time_window: `
def short_time_window(window: Optional[Tensor], width: int, n_fft: int, self):
    taper = torch.ones([width], dtype=torch.real(self).dtype)
    if window is not None:
        taper = window
    left = (n_fft - width) // 2
    return torch.constant_pad_nd(taper, [left, n_fft - width - left], 0)`,
  short_time: `
def short_time(self, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool]):
    hop = n_fft // 4
    if hop_length is not None:
        hop = hop_length
    width = n_fft if win_length is None else win_length
    taper = short_time_window(window, width, n_fft, self)
    given = self.unsqueeze(0) if self.dim() == 1 else self
    frames = given.unfold(-1, n_fft, hop) * taper
    isHalf = not self.is_complex()
    if onesided is not None:
        isHalf = onesided
    norm = "ortho" if normalized else "backward"
    spectrum = torch.fft_rfft(frames, None, -1, norm) if isHalf else torch.fft_fft(frames, None, -1, norm)
    spectrum = torch.transpose(spectrum, 1, 2)
    if self.dim() == 1:
        spectrum = spectrum.squeeze(0)
    if return_complex is not None and return_complex:
        return spectrum
    return torch.view_as_real(spectrum.contiguous())`,
  given_scales: `
def given_scales(scale_factors: Optional[List[float]], rank: int):
    scales: List[Optional[float]] = []
    for at in range(rank):
        scale: Optional[float] = None
        if scale_factors is not None:
            scale = scale_factors[at]
        scales.append(scale)
    return scales`,
  resize_matrix: `
def resize_matrix(length: int, count: int, dtype: int, name: str, align: bool, scale: Optional[float]):
    units = torch.eye(length, dtype=dtype).unsqueeze(0)
    if name.startswith("upsample_nearest"):
        return torch.upsample_nearest1d(units, [count], scale).squeeze(0)
    if name.startswith("_upsample_nearest_exact"):
        return torch._upsample_nearest_exact1d(units, [count], scale).squeeze(0)
    wide = units.unsqueeze(-1)
    if name == "upsample_bicubic2d":
        return torch.upsample_bicubic2d(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    if name == "_upsample_bilinear2d_aa":
        return torch._upsample_bilinear2d_aa(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    if name == "_upsample_bicubic2d_aa":
        return torch._upsample_bicubic2d_aa(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    if name == "_upsample_lanczos2d_aa":
        return torch._upsample_lanczos2d_aa(wide, [count, 1], align, scale, None).squeeze(0).squeeze(-1)
    return torch.upsample_linear1d(units, [count], align, scale).squeeze(0)`,
  resize_slope: `
def resize_slope(grad, size: List[int], name: str, align: bool, scales: List[Optional[float]]):
    result = grad
    for at in range(len(scales)):
        d = len(size) - len(scales) + at
        matrix = resize_matrix(size[d], grad.size(d), grad.dtype, name, align, scales[at])
        result = torch.transpose(torch.matmul(torch.transpose(result, d, -1), torch.transpose(matrix, 0, 1)), d, -1)
    return result`,
  grid_reflected: `
def grid_reflected(at, low: float, high: float):
    span = high - low
    if span <= 0.:
        return torch.zeros_like(at)
    away = torch.abs(at - low)
    turns = torch.floor(away / span)
    extra = away - turns.detach() * span
    isEven = torch.remainder(turns, 2) == 0
    return torch.where(isEven, extra + low, span - extra + low)`,
  grid_inside: `
def grid_inside(at, length: int, padding: int, align: bool):
    if padding == 1:
        return torch.clamp(at, 0., float(length - 1))
    if padding == 2:
        turned_in = grid_reflected(at, 0., float(length - 1)) if align else grid_reflected(at, -0.5, float(length) - 0.5)
        return torch.clamp(turned_in, 0., float(length - 1))
    return at`,
  grid_values: `
def grid_values(input, places: List[Tensor], padding: int, align: bool, fold: bool):
    rank = len(places)
    flat = torch.flatten(input, 2, -1)
    spot = torch.zeros_like(places[0], dtype=4)
    inside = torch.ones_like(spot, dtype=11)
    for d in range(rank):
        length = input.size(d + 2)
        place = grid_inside(places[d], length, padding, align) if fold else places[d]
        whole = place.detach().to(4)
        within = torch.logical_and(whole >= 0, whole < length)
        inside = torch.logical_and(inside, within)
        spot = spot * length + torch.clamp(whole, 0, length - 1)
    count = spot.numel() // spot.size(0)
    index = spot.reshape([spot.size(0), 1, count]).expand([input.size(0), input.size(1), count])
    found = torch.gather(flat, 2, index).reshape([input.size(0), input.size(1)] + spot.size()[1:])
    return torch.where(inside.unsqueeze(1), found, torch.zeros_like(found))`,
  grid_samples: `
def grid_samples(input, grid, mode: int, padding: int, align: bool):
    rank = input.dim() - 2
    places: List[Tensor] = []
    for d in range(rank):
        own = torch.select(grid, -1, rank - 1 - d)
        length = input.size(d + 2)
        at = (own + 1) / 2 * (length - 1) if align else ((own + 1) * length - 1) / 2
        places.append(at if mode == 2 else grid_inside(at, length, padding, align))
    if mode == 1:
        return grid_values(input, [torch.round(place) for place in places], padding, align, False)
    floors = [torch.floor(place).detach() for place in places]
    parts = [places[d] - floors[d] for d in range(rank)]
    result = torch.zeros([input.size(0), input.size(1)] + grid.size()[1:-1], dtype=input.dtype)
    if mode == 0:
        for corner in range(8 if rank == 3 else 4):
            weight = torch.ones_like(parts[0])
            spots: List[Tensor] = []
            for d in range(rank):
                side = (corner // [1, 2, 4][d]) % 2
                weight = weight * (parts[d] if side == 1 else 1 - parts[d])
                spots.append(floors[d] + side)
            result = result + grid_values(input, spots, padding, align, False) * weight.unsqueeze(1)
        return result
    for i in range(4):
        row = torch.zeros_like(result)
        for j in range(4):
            spots = [floors[0] + (i - 1), floors[1] + (j - 1)]
            row = row + grid_values(input, spots, padding, align, True) * cubic_weight(parts[1], j).unsqueeze(1)
        result = result + row * cubic_weight(parts[0], i).unsqueeze(1)
    return result`,
  cubic_weight: `
def cubic_weight(t, at: int):
    a = -0.75
    x = torch.abs(t + (1 - at))
    if at == 1 or at == 2:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a`,
  gru_step: `
def gru_step(rows, columns, hx):
    a = torch.chunk(rows, 3, -1)
    b = torch.chunk(columns, 3, -1)
    reset = torch.sigmoid(a[0] + b[0])
    update = torch.sigmoid(a[1] + b[1])
    new = torch.tanh(a[2] + reset * b[2])
    return new + update * (hx - new)`,
  lstm_step: `
def lstm_step(gates, cx):
    parts = torch.chunk(gates, 4, -1)
    cell = torch.sigmoid(parts[1]) * cx + torch.sigmoid(parts[0]) * torch.tanh(parts[2])
    return torch.sigmoid(parts[3]) * torch.tanh(cell), cell`,
  recurrent_layers: `
def recurrent_layers(data, sizes: List[int], hx, cx, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, cell: str):
    directions = 2 if bidirectional else 1
    isProjected = cell == "lstm" and hx.size(2) != cx.size(2)
    each = (4 if has_biases else 2) + (1 if isProjected else 0)
    begins: List[int] = []
    total = 0
    for size in sizes:
        begins.append(total)
        total += size
    taken = data
    hiddens: List[Tensor] = []
    cells: List[Tensor] = []
    for layer in range(num_layers):
        outputs: List[Tensor] = []
        for direction in range(directions):
            first = (layer * directions + direction) * each
            b_ih: Optional[Tensor] = None
            b_hh: Optional[Tensor] = None
            if has_biases:
                b_ih = params[first + 2]
                b_hh = params[first + 3]
            rows = torch.linear(taken, params[first], b_ih)
            start_h = hx[layer * directions + direction]
            start_c = cx[layer * directions + direction]
            batch = sizes[0] if direction == 0 else sizes[len(sizes) - 1]
            h = torch.narrow(start_h, 0, 0, batch)
            c = torch.narrow(start_c, 0, 0, batch)
            found: List[Tensor] = []
            ended_h: List[Tensor] = []
            ended_c: List[Tensor] = []
            for count in range(len(sizes)):
                at = count if direction == 0 else len(sizes) - 1 - count
                size = sizes[at]
                if size < h.size(0):
                    ended_h.append(torch.narrow(h, 0, size, h.size(0) - size))
                    ended_c.append(torch.narrow(c, 0, size, c.size(0) - size))
                    h = torch.narrow(h, 0, 0, size)
                    c = torch.narrow(c, 0, 0, size)
                elif size > h.size(0):
                    old = h.size(0)
                    h = torch.cat([h, torch.narrow(start_h, 0, old, size - old)], 0)
                    c = torch.cat([c, torch.narrow(start_c, 0, old, size - old)], 0)
                own = torch.narrow(rows, 0, begins[at], size)
                columns = torch.linear(h, params[first + 1], b_hh)
                if cell == "gru":
                    h = gru_step(own, columns, h)
                elif cell == "lstm":
                    h, c = lstm_step(own + columns, c)
                    if isProjected:
                        h = torch.linear(h, params[first + each - 1], None)
                elif cell == "rnn_tanh":
                    h = torch.tanh(own + columns)
                else:
                    h = torch.relu(own + columns)
                found.append(h)
            ended_h.append(h)
            ended_c.append(c)
            ended_h.reverse()
            ended_c.reverse()
            hiddens.append(torch.cat(ended_h, 0))
            cells.append(torch.cat(ended_c, 0))
            if direction == 1:
                found.reverse()
            outputs.append(torch.cat(found, 0))
        taken = torch.cat(outputs, -1)
        if dropout > 0. and train and layer < num_layers - 1:
            taken = torch.dropout(taken, dropout, True)
    return taken, torch.stack(hiddens, 0), torch.stack(cells, 0)`,
  product_slopes: `
def product_slopes(grad, equation: str, tensors: List[Tensor]):
    plain = equation.replace(" ", "").replace("...", ".")
    sides = plain.split("->")
    operands = sides[0].split(",")
    result = ""
    if len(sides) > 1:
        result = sides[1]
    else:
        if "." in plain:
            result = "."
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
            if sides[0].count(letter) == 1:
                result = result + letter
    slopes: List[Tensor] = []
    for k in range(len(operands)):
        own = operands[k]
        given: List[Tensor] = [grad]
        inputs = result
        for j in range(len(operands)):
            if j != k:
                inputs = inputs + "," + operands[j]
                given.append(torch.conj(tensors[j]))
        seen = ""
        wanted = ""
        size = tensors[k].size()
        missing: List[int] = []
        ellipsis = len(size) - (len(own) - 1)
        d = 0
        for letter in own:
            if letter == ".":
                wanted = wanted + letter
                d += ellipsis
            elif letter in seen:
                fresh = ""
                for candidate in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
                    if fresh == "" and candidate not in plain and candidate not in wanted:
                        fresh = candidate
                inputs = inputs + "," + letter + fresh
                given.append(torch.eye(size[d], dtype=grad.dtype))
                wanted = wanted + fresh
                d += 1
            else:
                seen = seen + letter
                if letter in inputs:
                    wanted = wanted + letter
                else:
                    missing.append(d)
                d += 1
        slope = torch.einsum((inputs + "->" + wanted).replace(".", "..."), given)
        for at in missing:
            slope = slope.unsqueeze(at)
        slopes.append(torch.sum_to_size(slope, size) if len(missing) == 0 else torch.expand(slope, size))
    return slopes`,
};
