# make: Quilt(sizes=[5, 7], numbers=2)
# make: Quilt(sizes=[5, 7], numbers=2, cross='deep', hidden=[6, 4], tasks=('click', 'buy'))
# call: forward(torch.tensor([[1, 2], [4, 6]]), numbers(2, 2))
"""Guesses what people click: embeddings of fields, products of pairs, and a net."""
import itertools
from typing import Dict, Iterable, List, Sequence, Tuple, Union

import torch
from torch import nn, Tensor


class FieldEmbedding(nn.Module):
    """One table for all fields, whose rows begin at offsets."""

    def __init__(self, sizes: Sequence[int], width: int) -> None:
        super().__init__()
        starts = [0] + list(itertools.accumulate(sizes))[:-1]
        self.table = nn.Embedding(sum(sizes), width)
        self.register_buffer('starts', torch.tensor(starts))
        with torch.no_grad():
            self.table.weight.uniform_(-1 / width, 1 / width)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids + self.starts)


class Pairs(nn.Module):
    def __init__(self, fields: int) -> None:
        super().__init__()
        left, right = zip(*itertools.combinations(range(fields), 2))
        self.left: List[int] = list(left)
        self.right: List[int] = list(right)
        self.size = len(self.left)

    def forward(self, x: Tensor) -> Tensor:
        return (x[:, self.left] * x[:, self.right]).sum(-1)


class DeepCross(nn.Module):
    def __init__(self, width: int, layers: int = 2) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.full((width,), 0.1 * (i + 1))) for i in range(layers)])
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        start = x
        for w, b in zip(self.weights, self.biases):
            x = start * (x @ w).unsqueeze(-1) + b + x
        return x


class Net(nn.Sequential):
    def __init__(self, width: int, hidden: Iterable[int], drop: float = 0.2, norm: bool = True) -> None:
        layers: List[nn.Module] = []
        for size in hidden:
            layers.append(nn.Linear(width, size))
            if norm:
                layers.append(nn.BatchNorm1d(size))
            layers.extend([nn.ReLU(), nn.Dropout(p=drop)])
            width = size
        super().__init__(*layers)
        self.width = width


class Quilt(nn.Module):
    def __init__(self, sizes: Sequence[int], numbers: int = 1, width: int = 4, cross: str = 'pairs',
                 hidden: Sequence[int] = (8,), tasks: Union[str, Tuple[str, ...]] = 'click') -> None:
        super().__init__()
        if isinstance(tasks, str):
            tasks = (tasks,)
        self.embed = FieldEmbedding(sizes, width)
        self.scale = nn.BatchNorm1d(numbers)
        flat = len(sizes) * width + numbers
        self.is_deep = cross == 'deep'
        self.pairs = Pairs(len(sizes)) if len(sizes) > 1 else None
        self.cross = DeepCross(flat) if self.is_deep else nn.Identity()
        self.net = Net(flat, hidden)
        joined = self.net.width + (flat if self.is_deep else 0) + (self.pairs.size if self.pairs else 0)
        self.heads = nn.ModuleDict({task: nn.Linear(joined, 1) for task in sorted(tasks)})

    def forward(self, ids: Tensor, numbers: Tensor) -> Dict[str, Tensor]:
        x = self.embed(ids)
        flat = torch.cat([x.flatten(1), self.scale(numbers)], dim=1)
        parts = [self.net(flat)]
        if self.is_deep:
            parts.append(self.cross(flat))
        if self.pairs is not None:
            parts.append(self.pairs(x))
        joined = torch.cat(parts, dim=1)
        scores: Dict[str, Tensor] = {}
        for task, head in self.heads.items():
            scores[task] = torch.sigmoid(head(joined)).squeeze(-1)
        return scores
