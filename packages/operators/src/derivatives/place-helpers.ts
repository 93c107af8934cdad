/** Reading, writing and repeating elements by place. */
export const placeHelpers: Readonly<Record<string, string>> = {
  others_of: `
def others_of(dims: List[int], rank: int):
    others: List[int] = []
    for d in range(rank):
        if d not in dims:
            others.append(d)
    return others`,
  reshaped_like: `
def reshaped_like(grads: List[Tensor], tensors: List[Tensor]):
    parts: List[Tensor] = []
    for at in range(len(tensors)):
        parts.append(grads[at].reshape(tensors[at].size()))
    return parts`,
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
            # Around what is left of it.
            begin = max(-pad[2 * at], 0)
            places = begin + torch.remainder(places - begin, length - begin - max(-pad[2 * at + 1], 0))
        shape = result.size()
        shape[dim] = length
        result = torch.index_add(torch.zeros(shape, dtype=grad.dtype), dim, places, result)
    return result`,
  strided_slope: `
def strided_slope(grad, size: List[int], stride: List[int], offset: int, viewed: List[int], viewed_stride: List[int], viewed_offset: Optional[int]):
    if grad.numel() == 0 or reduced_count(size, None) == 0:
        return torch.zeros(size, dtype=grad.dtype)
    at = offset
    if viewed_offset is not None:
        at = viewed_offset
    first = min(offset, at)
    count = max(offset - first + reach(size, stride), at - first + reach(viewed, viewed_stride))
    spots = torch.arange(count)
    flat = torch.index_add(torch.zeros([count], dtype=grad.dtype), 0, torch.as_strided(spots, viewed, viewed_stride, at - first).reshape([-1]), grad.reshape([-1]))
    own = torch.as_strided(spots, size, stride, offset - first).reshape([-1])
    # What lies in one place shares its gradient.
    shares = torch.index_add(torch.zeros([count], dtype=grad.dtype), 0, own, torch.ones([own.numel()], dtype=grad.dtype))
    return torch.index_select(flat / torch.clamp_min(torch.real(shares), 1), 0, own).reshape(size)`,
  reach: `
def reach(size: List[int], stride: List[int]) -> int:
    length = 1
    for d in range(len(size)):
        length += (size[d] - 1) * stride[d]
    return length`,
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
    return padded_after(torch.gather(grad, dim, index), size)`,
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
};
