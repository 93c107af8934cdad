/** Shape functions of products, embeddings, normalisations and losses. */
export const productsText = `
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
`;
