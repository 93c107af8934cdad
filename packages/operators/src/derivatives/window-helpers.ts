/** Convolutions, windows of pooling, and normalisations. */
export const windowHelpers: Readonly<Record<string, string>> = {
  convolution_slopes: `
def convolution_slopes(grad, input, weight, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, wanted: List[bool]):
    rank = weight.dim() - 2
    batched = input.dim() == weight.dim()
    given = grad if batched else grad.unsqueeze(0)
    taken = input if batched else input.unsqueeze(0)
    sizes: Optional[List[int]] = None
    if bias is not None:
        sizes = bias.size()
    a, b, c = torch.convolution_backward(given, torch.conj(taken), torch.conj(weight), sizes, full_list(stride, rank, 1), full_list(padding, rank, 0), full_list(dilation, rank, 1), transposed, full_list(output_padding, rank, 0), groups, [wanted[0], wanted[1], wanted[2]])
    if wanted[0] and transposed:
        for d in range(rank):
            a = torch.narrow(a, d + 2, 0, taken.size(d + 2))
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
    return torch.scatter_add(flat, -1, torch.flatten(places, -rank, -1), torch.flatten(grad, -rank, -1)).reshape(size)`,
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
        if steps[at] == kernel[at] and margins[at] == 0 and windows * kernel[at] <= length:
            # Windows that do not meet share nothing: what is no number in one stays there.
            if divisor is None:
                result = result / kernel[at]
            wide = result.unsqueeze(d + 1)
            lengths = wide.size()
            lengths[d + 1] = kernel[at]
            result = torch.constant_pad_nd(torch.flatten(wide.expand(lengths), d, d + 1), [0] * (2 * (len(size) - 1 - d)) + [0, length - windows * kernel[at]], 0)
            continue
        begin = torch.arange(windows) * steps[at] - margins[at]
        end = torch.clamp_max(begin + kernel[at], length + margins[at])
        moved = torch.transpose(result, d, -1)
        if divisor is None:
            last = torch.clamp_max(end, length)
            moved = moved / (end - begin if count_include_pad else last - torch.clamp_min(begin, 0))
        # What each place gets of the windows that it is in, those at the margins among them.
        lines = moved.size()
        lines[-1] = length
        spread = torch.conv_transpose1d(moved.reshape([moved.numel() // windows, 1, windows]), torch.ones([1, 1, kernel[at]], dtype=grad.dtype), None, [steps[at]])
        reached = min(length, spread.size(2) - margins[at])
        spread = torch.constant_pad_nd(torch.narrow(spread, 2, margins[at], reached), [0, length - reached], 0)
        result = torch.transpose(spread.reshape(lines), d, -1)
    return result`,
  adaptive_average_slope: `
def adaptive_average_slope(grad, size: List[int], rank: int):
    # Averages along one dimension are those of a plane one row high, and a mean where one is left.
    shown = grad.size()
    if rank == 1:
        shown = shown[:-1] + [1] + shown[-1:]
    for d in range(1, 1 if rank == 1 and shown[-1] == 1 else len(shown)):
        assert shown[d] > 0, "adaptive_avg_pool{}d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes {} with dimension {} being empty".format(max(rank, 2), shown, d)
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
    inner = reduced_count(input.size()[1:], None) // groups
    grouped = input.reshape([input.size(0), groups, inner])
    centred = grouped - torch.mean(grouped, [2], True)
    deviation = torch.rsqrt(torch.mean(centred * centred, [2], True) + eps)
    return grouped_slopes(grad, input, centred, deviation, weight, groups)`,
  grouped_slopes: `
def grouped_slopes(grad, input, centred, deviation, weight: Optional[Tensor], groups: int):
    normal = centred * deviation
    shape = [1] * grad.dim()
    shape[1] = grad.size(1)
    scaled = grad
    if weight is not None:
        scaled = grad * weight.reshape(shape)
    scaled = scaled.reshape(centred.size())
    slope = deviation * (scaled - torch.mean(scaled, [2], True) - normal * torch.mean(scaled * normal, [2], True))
    dims = others_of([1], grad.dim())
    return slope.reshape(input.size()), torch.sum(grad * normal.reshape(grad.size()), dims), torch.sum(grad, dims)`,
};
