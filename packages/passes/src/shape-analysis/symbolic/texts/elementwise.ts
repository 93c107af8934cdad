/** Shape functions of operators on each element and of reductions, with what all others are made of. */
export const elementwiseText = `
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
`;
