/**
 * What sizes operators give, in TorchScript: a tensor is the list of its sizes. Arguments that no size depends on are left out where
 * none that matters follows them. What a function asserts is known of the sizes afterwards, ranks above all: an operator that insists on
 * four dimensions tells that there are four.
 */
export const shapeFunctionText = `
def wrapped(dim: int, rank: int) -> int:
    positions = rank
    if rank <= 0:
        positions = 1
    assert dim >= -positions and dim < positions, "a dimension is out of range"
    if dim < 0:
        dim = dim + positions
    return dim

def product(sizes: List[int]) -> int:
    result = 1
    for size in sizes:
        result = result * size
    return result

def unary(self: List[int]) -> List[int]:
    sizes: List[int] = []
    for size in self:
        sizes.append(size)
    return sizes

def broadcast(a: List[int], b: List[int]) -> List[int]:
    rank_a = len(a)
    rank_b = len(b)
    rank = max(rank_a, rank_b)
    sizes: List[int] = []
    for dim in range(rank):
        behind = rank - 1 - dim
        dim_a = rank_a - 1 - behind
        dim_b = rank_b - 1 - behind
        size_a = a[dim_a] if dim_a >= 0 else 1
        size_b = b[dim_b] if dim_b >= 0 else 1
        if size_a != size_b and size_a != 1 and size_b != 1:
            raise AssertionError("The size of tensor a {} must match the size of tensor b ({}) at non-singleton dimension {}".format(size_a, size_b, dim))
        sizes.append(size_b if size_a == 1 else size_a)
    return sizes

def broadcast_inplace(a: List[int], b: List[int]) -> List[int]:
    rank_a = len(a)
    rank_b = len(b)
    if rank_b > rank_a:
        raise AssertionError("The dims of tensor b ({}) must be less than or equal to the dims of tensor a ({}) ".format(rank_b, rank_a))
    for dim_a in range(rank_a):
        dim_b = rank_b - rank_a + dim_a
        size_a = a[dim_a]
        size_b = b[dim_b] if dim_b >= 0 else 1
        if size_a != size_b and size_b != 1:
            raise AssertionError("The size of tensor a {} must match the size of tensor b ({}) at non-singleton dimension {}".format(size_a, size_b, dim_a))
    return unary(a)

def broadcast_three(a: List[int], b: List[int], c: List[int]) -> List[int]:
    return broadcast(broadcast(a, b), c)

def broadcast_first_and_third(a: List[int], b: Any, c: List[int]) -> List[int]:
    return broadcast(a, c)

def no_dimensions(input: Any) -> List[int]:
    sizes: List[int] = []
    return sizes

def reduce_dims(self: List[int], dims: Optional[List[int]], keepdim: bool) -> List[int]:
    reduced: List[int] = []
    if dims is None or len(dims) == 0:
        for dim in range(len(self)):
            reduced.append(dim)
    else:
        reduced = dims
    sizes: List[int] = []
    for dim in range(len(self)):
        is_reduced = False
        for other in reduced:
            if dim == wrapped(other, len(self)):
                is_reduced = True
        if is_reduced:
            if keepdim:
                sizes.append(1)
        else:
            sizes.append(self[dim])
    return sizes

def max_dim(self: List[int], dim: int, keepdim: bool) -> Tuple[List[int], List[int]]:
    sizes = reduce_dims(self, [dim], keepdim)
    return sizes, sizes

def argmax(self: List[int], dim: Optional[int], keepdim: bool) -> List[int]:
    if dim is None:
        none: List[int] = []
        return none
    reduced = wrapped(dim, len(self))
    sizes: List[int] = []
    for position in range(len(self)):
        if position == reduced:
            if keepdim:
                sizes.append(1)
        else:
            sizes.append(self[position])
    return sizes

def topk(self: List[int], k: int, dim: int) -> Tuple[List[int], List[int]]:
    if len(self) == 0:
        sizes: List[int] = []
    else:
        assert k <= self[dim], "k is more than there are"
        sizes = unary(self)
        sizes[dim] = k
    return sizes, sizes

def adaptive_avg_pool2d(self: List[int], output_size: List[int]) -> List[int]:
    assert len(output_size) == 2
    assert len(self) == 3 or len(self) == 4
    for dim in range(1, len(self)):
        assert self[dim] != 0
    sizes: List[int] = []
    for dim in range(0, len(self) - 2):
        sizes.append(self[dim])
    for size in output_size:
        sizes.append(size)
    return sizes

def pooled(size: int, kernel: int, padding: int, stride: int, dilation: int, ceil_mode: bool) -> int:
    assert stride != 0, "stride should not be zero"
    rounding = stride - 1 if ceil_mode else 0
    windows = (size + 2 * padding - dilation * (kernel - 1) - 1 + rounding) // stride + 1
    if ceil_mode:
        # No window begins behind the padding on the left and the tensor.
        if (windows - 1) * stride >= size + padding:
            windows = windows - 1
    return windows

def max_pool2d(self: List[int], kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> List[int]:
    assert len(kernel_size) == 1 or len(kernel_size) == 2
    kernel_h = kernel_size[0]
    kernel_w = kernel_h if len(kernel_size) == 1 else kernel_size[1]
    assert len(stride) == 0 or len(stride) == 1 or len(stride) == 2
    stride_h = kernel_h if len(stride) == 0 else stride[0]
    if len(stride) == 0:
        stride_w = kernel_w
    elif len(stride) == 1:
        stride_w = stride_h
    else:
        stride_w = stride[1]
    assert len(padding) == 1 or len(padding) == 2
    padding_h = padding[0]
    padding_w = padding_h if len(padding) == 1 else padding[1]
    assert len(dilation) == 1 or len(dilation) == 2
    dilation_h = dilation[0]
    dilation_w = dilation_h if len(dilation) == 1 else dilation[1]
    assert len(self) == 3 or len(self) == 4
    batch = self[-4] if len(self) == 4 else 1
    channels = self[-3]
    height = pooled(self[-2], kernel_h, padding_h, stride_h, dilation_h, ceil_mode)
    width = pooled(self[-1], kernel_w, padding_w, stride_w, dilation_w, ceil_mode)
    assert kernel_w > 0 and kernel_h > 0
    assert stride_w > 0 and stride_h > 0
    assert dilation_h > 0 and dilation_w > 0
    has_middle = self[1] != 0 and self[2] != 0
    assert (len(self) == 3 and self[0] != 0 and has_middle) or (len(self) == 4 and has_middle and self[3] != 0)
    assert kernel_w // 2 >= padding_w and kernel_h // 2 >= padding_h
    assert width >= 1 and height >= 1
    if len(self) == 3:
        return [channels, height, width]
    else:
        return [batch, channels, height, width]

def max_pool2d_with_indices(self: List[int], kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tuple[List[int], List[int]]:
    sizes = max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)
    return sizes, sizes

def upsample_nearest2d(input: List[int], output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> List[int]:
    sizes: List[int] = []
    sizes.append(input[0])
    sizes.append(input[1])
    assert scale_factors is not None or output_size is not None
    if output_size is not None:
        assert scale_factors is None
        assert len(output_size) == 2
        sizes.append(output_size[0])
        sizes.append(output_size[1])
    if scale_factors is not None:
        assert output_size is None
        assert len(scale_factors) == 2
        sizes.append(int(input[2] * scale_factors[0]))
        sizes.append(int(input[3] * scale_factors[1]))
    return sizes

def has_negative(values: List[int]) -> bool:
    found = False
    for value in values:
        if value < 0:
            found = True
    return found

def conv(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    rank = len(input)
    assert not has_negative(padding)
    assert not has_negative(stride)
    assert len(weight) == rank
    assert weight[0] >= groups
    assert (weight[0] % groups) == 0
    assert input[1] == weight[1] * groups
    if bias is not None:
        assert len(bias) == 1 and bias[0] == weight[0]
    for dim in range(2, rank):
        extent = dilation[dim - 2] * (weight[dim] - 1) + 1
        assert input[dim] + 2 * padding[dim - 2] >= extent
    output_padding: List[int] = []
    return convolution(input, weight, bias, stride, padding, dilation, False, output_padding, groups)

def conv1d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    assert len(weight) == 3
    assert len(input) == 3
    return conv(input, weight, bias, stride, padding, dilation, groups)

def conv2d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    assert len(weight) == 4
    assert len(input) == 4
    return conv(input, weight, bias, stride, padding, dilation, groups)

def conv3d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> List[int]:
    assert len(weight) == 5
    assert len(input) == 5
    return conv(input, weight, bias, stride, padding, dilation, groups)

def convolution(input: List[int], weight: List[int], bias: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> List[int]:
    has_dilation = len(dilation) > 0
    has_output_padding = len(output_padding) > 0
    sizes: List[int] = []
    sizes.append(input[0])
    if transposed:
        sizes.append(weight[1] * groups)
    else:
        sizes.append(weight[0])
    for dim in range(2, len(input)):
        step = dilation[dim - 2] if has_dilation else 1
        added = output_padding[dim - 2] if has_output_padding else 0
        reach = step * (weight[dim] - 1)
        if transposed:
            sizes.append((input[dim] - 1) * stride[dim - 2] - 2 * padding[dim - 2] + reach + added + 1)
        else:
            sizes.append((input[dim] + 2 * padding[dim - 2] - (reach + 1)) // stride[dim - 2] + 1)
    return sizes

def conv_transpose2d(input: List[int], weight: List[int], bias: Optional[List[int]], stride: Optional[List[int]], padding: Optional[List[int]], output_padding: Optional[List[int]], groups: int, dilation: Optional[List[int]]) -> List[int]:
    if stride is None:
        stride = [1, 1]
    if padding is None:
        padding = [0, 0]
    if output_padding is None:
        output_padding = [0, 0]
    if dilation is None:
        dilation = [1, 1]
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

def convolution_backward(grad_output: List[int], input: List[int], weight: List[int]) -> Tuple[List[int], List[int], List[int]]:
    return unary(input), unary(weight), [grad_output[1]]

def mm(self: List[int], mat2: List[int]) -> List[int]:
    assert len(self) == 2, "self must be a matrix"
    assert len(mat2) == 2, "mat2 must be a matrix"
    assert self[1] == mat2[0]
    return [self[0], mat2[1]]

def mv(self: List[int], vec: List[int]) -> List[int]:
    assert len(self) == 2 and len(vec) == 1
    assert self[1] == vec[0]
    return [self[0]]

def dot(self: List[int], tensor: List[int]) -> List[int]:
    assert len(self) == 1 and len(tensor) == 1
    assert self[0] == tensor[0]
    sizes: List[int] = []
    return sizes

def bmm(self: List[int], mat2: List[int]) -> List[int]:
    assert len(self) == 3, "bmm takes tensors of three dimensions"
    assert len(mat2) == 3, "bmm takes tensors of three dimensions"
    assert self[0] == mat2[0], "mismatching batch dimension"
    assert self[2] == mat2[1], "mismatching contracting dimension"
    return [self[0], self[1], mat2[2]]

def addmm(self: List[int], mat1: List[int], mat2: List[int]) -> List[int]:
    return broadcast(self, mm(mat1, mat2))

def matmul(self: List[int], other: List[int]) -> List[int]:
    rank_self = len(self)
    rank_other = len(other)
    if rank_self == 1 and rank_other == 1:
        return dot(self, other)
    elif rank_self == 2 and rank_other == 1:
        return mv(self, other)
    elif rank_self == 1 and rank_other == 2:
        return squeeze(mm(unsqueeze(self, 0), other), 0)
    elif rank_self == 2 and rank_other == 2:
        return mm(self, other)
    elif rank_self >= 1 and rank_other >= 1:
        rows = self[-2] if rank_self > 1 else 1
        batch_self: List[int] = []
        for dim in range(rank_self - 2):
            batch_self.append(self[dim])
        columns = other[-1]
        batch_other: List[int] = []
        for dim in range(rank_other - 2):
            batch_other.append(other[dim])
        sizes = broadcast(batch_self, batch_other)
        if rank_self > 1:
            sizes.append(rows)
        if rank_other > 1:
            sizes.append(columns)
        return sizes
    else:
        assert False, "both arguments to matmul need to be at least 1D"

def linear(input: List[int], weight: List[int], bias: Optional[List[int]]) -> List[int]:
    sizes = matmul(input, t(weight))
    if bias is not None:
        assert broadcast(bias, sizes) == sizes
    return sizes

def embedding(weight: List[int], indices: List[int]) -> List[int]:
    assert len(weight) == 2
    if len(indices) == 1:
        return index_select(weight, 0, indices)
    sizes = unary(indices)
    sizes.append(weight[1])
    return sizes

def native_layer_norm(input: List[int], normalized_shape: List[int]) -> Tuple[List[int], List[int], List[int]]:
    statistics: List[int] = []
    outer = len(input) - len(normalized_shape)
    assert outer >= 0
    for dim in range(outer):
        statistics.append(input[dim])
    for dim in range(outer, len(input)):
        statistics.append(1)
    return unary(input), statistics, statistics

def native_batch_norm(input: List[int], weight: Optional[List[int]], bias: Optional[List[int]], running_mean: Optional[List[int]], running_var: Optional[List[int]], training: bool) -> Tuple[List[int], List[int], List[int]]:
    if training:
        statistics = [input[1]]
    else:
        statistics = [0]
    return unary(input), statistics, statistics

def batch_norm_with_update(input: List[int]) -> Tuple[List[int], List[int], List[int], List[int]]:
    statistics = [input[1]]
    return unary(input), statistics, statistics, [0]

def nll_loss_forward(self: List[int], target: List[int], weight: Optional[List[int]], reduction: int) -> Tuple[List[int], List[int]]:
    rank = len(self)
    assert 0 < rank and rank <= 2
    assert len(target) <= 1
    is_single = rank == 1 and len(target) == 0
    assert is_single or self[0] == target[0]
    assert weight is None or (len(weight) == 1 and weight[0] == self[-1])
    none: List[int] = []
    if reduction == 0 and rank == 2:
        loss = [self[0]]
    else:
        loss = none
    return loss, none

def cross_entropy_loss(self: List[int], target: List[int], weight: Optional[List[int]], reduction: int) -> List[int]:
    return nll_loss_forward(self, target, weight, reduction)[0]

def arange_end(end: Union[int, float]) -> List[int]:
    assert end >= 0
    return [int(torch.ceil(end))]

def arange_start(start: Union[int, float], end: Union[int, float]) -> List[int]:
    assert end >= 0
    assert end >= start
    return [int(torch.ceil(end - start))]

def arange_step(start: Union[int, float], end: Union[int, float], step: Union[int, float]) -> List[int]:
    assert step != 0
    if step < 0:
        assert start >= end
    else:
        assert end >= start
    return [int(torch.ceil((end - start) / step))]

def shape_as_tensor(self: List[int]) -> List[int]:
    return [len(self)]

def view(self: List[int], size: List[int]) -> List[int]:
    elements = product(self)
    known = 1
    open: Optional[int] = None
    for dim in range(len(size)):
        if size[dim] == -1:
            assert open is None, "only one dimension can be inferred"
            open = dim
        elif size[dim] >= 0:
            known = known * size[dim]
        else:
            assert False, "invalid shape dimensions"
    assert elements == known or (open is not None and known > 0 and elements % known == 0), "invalid shape"
    sizes = unary(size)
    if open is not None:
        sizes[open] = elements // known
    return sizes

def expand(self: List[int], size: List[int]) -> List[int]:
    assert len(size) >= len(self)
    rank = len(size)
    rank_self = len(self)
    if rank == 0:
        return unary(size)
    sizes: List[int] = []
    for dim in range(rank):
        dim_self = rank_self - 1 - (rank - 1 - dim)
        own = self[dim_self] if dim_self >= 0 else 1
        wanted = size[dim]
        if wanted == -1:
            assert dim_self >= 0
            wanted = own
        if own != wanted:
            assert own == 1
            own = wanted
        sizes.append(own)
    return sizes

def t(self: List[int]) -> List[int]:
    assert len(self) <= 2
    rank = len(self)
    if rank == 0:
        none: List[int] = []
        return none
    elif rank == 1:
        return [self[0]]
    else:
        return [self[1], self[0]]

def transpose(self: List[int], dim0: int, dim1: int) -> List[int]:
    rank = len(self)
    first = wrapped(dim0, rank)
    second = wrapped(dim1, rank)
    if first == second:
        return unary(self)
    sizes: List[int] = []
    for dim in range(rank):
        if dim == first:
            sizes.append(self[second])
        elif dim == second:
            sizes.append(self[first])
        else:
            sizes.append(self[dim])
    return sizes

def permute(self: List[int], dims: List[int]) -> List[int]:
    assert len(self) == len(dims)
    rank = len(dims)
    seen: List[int] = []
    sizes: List[int] = []
    for position in range(rank):
        dim = wrapped(dims[position], rank)
        seen.append(dim)
        sizes.append(self[dim])
    for later in range(1, rank):
        for earlier in range(later):
            assert seen[later] != seen[earlier]
    return sizes

def movedim(self: List[int], source: List[int], destination: List[int]) -> List[int]:
    rank = len(self)
    if rank <= 1:
        return self
    sources: List[int] = []
    destinations: List[int] = []
    for index in range(len(source)):
        sources.append(wrapped(source[index], rank))
        destinations.append(wrapped(destination[index], rank))
    order: List[int] = []
    free_sources: List[int] = []
    free_destinations: List[int] = []
    for dim in range(rank):
        order.append(-1)
        free_sources.append(dim)
        free_destinations.append(dim)
    for index in range(len(source)):
        order[destinations[index]] = sources[index]
        free_sources[sources[index]] = -1
        free_destinations[destinations[index]] = -1
    staying_sources: List[int] = []
    staying_destinations: List[int] = []
    for dim in free_sources:
        if dim != -1:
            staying_sources.append(dim)
    for dim in free_destinations:
        if dim != -1:
            staying_destinations.append(dim)
    for index in range(rank - len(source)):
        order[staying_destinations[index]] = staying_sources[index]
    return permute(self, order)

def flatten(self: List[int], start_dim: int, end_dim: int) -> List[int]:
    first = wrapped(start_dim, len(self))
    last = wrapped(end_dim, len(self))
    assert first <= last
    if len(self) == 0:
        return [1]
    if first == last:
        return unary(self)
    elements = 1
    for dim in range(first, last + 1):
        elements = elements * self[dim]
    sizes: List[int] = []
    for dim in range(first):
        sizes.append(self[dim])
    sizes.append(elements)
    for dim in range(last + 1, len(self)):
        sizes.append(self[dim])
    return sizes

def squeeze_all(self: List[int]) -> List[int]:
    sizes: List[int] = []
    for dim in range(len(self)):
        if self[dim] != 1:
            sizes.append(self[dim])
    return sizes

def squeeze(self: List[int], dim: int) -> List[int]:
    sizes: List[int] = []
    squeezed = wrapped(dim, len(self))
    for position in range(len(self)):
        if position == squeezed:
            if self[position] != 1:
                sizes.append(self[position])
        else:
            sizes.append(self[position])
    return sizes

def squeeze_dims(self: List[int], dim: List[int]) -> List[int]:
    if len(dim) == 0:
        return self
    squeezed = unary(dim)
    for index in range(len(dim)):
        squeezed[index] = wrapped(squeezed[index], len(self))
    sizes: List[int] = []
    for position in range(len(self)):
        if self[position] == 1:
            if position not in squeezed:
                sizes.append(self[position])
        else:
            sizes.append(self[position])
    return sizes

def unsqueeze(self: List[int], dim: int) -> List[int]:
    position = wrapped(dim, len(self) + 1)
    sizes = unary(self)
    sizes.insert(position, 1)
    return sizes

def select(self: List[int], dim: int, index: int) -> List[int]:
    rank = len(self)
    assert rank != 0
    selected = wrapped(dim, rank)
    size = self[selected]
    assert not (index < -size or index >= size)
    sizes: List[int] = []
    for position in range(rank):
        if position != selected:
            sizes.append(self[position])
    return sizes

def slice(self: List[int], dim: int, start: Optional[int], end: Optional[int], step: int) -> List[int]:
    rank = len(self)
    assert rank != 0
    sliced = wrapped(dim, rank)
    first = start if start is not None else 0
    last = end if end is not None else 9223372036854775807
    assert step > 0
    if first == 9223372036854775807:
        first = 0
    if first < 0:
        first = first + self[sliced]
    if last < 0:
        last = last + self[sliced]
    if first < 0:
        first = 0
    elif first > self[sliced]:
        first = self[sliced]
    if last < first:
        last = first
    elif last >= self[sliced]:
        last = self[sliced]
    sizes = unary(self)
    sizes[sliced] = (last - first + step - 1) // step
    return sizes

def index_select(self: List[int], dim: int, index: List[int]) -> List[int]:
    selected = wrapped(dim, len(self))
    elements = product(index)
    assert len(index) <= 1
    assert selected == 0 or selected < len(self)
    sizes: List[int] = []
    for position in range(len(self)):
        if selected == position:
            sizes.append(elements)
        else:
            sizes.append(self[position])
    return sizes

def is_skipped(sizes: List[int]) -> bool:
    return product(sizes) == 0 and len(sizes) == 1

def cat(tensors: List[List[int]], dim: int) -> List[int]:
    for sizes in tensors:
        assert len(sizes) > 0, "a tensor without dimensions cannot be concatenated"
    along: Optional[int] = None
    for sizes in tensors:
        if not (len(sizes) == 1 and sizes[0] == 0):
            if along is None:
                along = wrapped(dim, len(sizes))
    if along is None:
        along = dim
    assert len(tensors) > 0, "no tensors to concatenate"
    model: Optional[List[int]] = None
    for sizes in tensors:
        if not is_skipped(sizes):
            model = sizes
    if model is None:
        return [0]
    total = 0
    for index in range(len(tensors)):
        sizes = tensors[index]
        if not is_skipped(sizes):
            assert len(model) == len(sizes), "tensors must have as many dimensions"
            for other in range(0, len(model)):
                if other != along:
                    assert model[other] == sizes[other], "sizes must match except along the dimension"
            total = total + sizes[along]
    result = unary(model)
    result[along] = total
    return result

def stack(tensors: List[List[int]], dim: int) -> List[int]:
    unsqueezed: List[List[int]] = []
    for sizes in tensors:
        unsqueezed.append(unsqueeze(sizes, dim))
    return cat(unsqueezed, dim)
`;
