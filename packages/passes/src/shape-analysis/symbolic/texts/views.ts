/** Shape functions of ranges, views and of tensors put together. */
export const viewsText = `
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
