from typing import Dict, List, Optional, Tuple

import torch
from torch import nn, Tensor


@torch.jit.script
def repeat_add(x: Tensor, n: int = 2) -> Tensor:
    for i in range(n):
        x = x + i
    return x


@torch.jit.script
def branch(x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        return x * 2
    return x - 1


@torch.jit.script
def two(x: Tensor) -> Tuple[Tensor, Tensor]:
    return x + 1, x - 1


@torch.jit.script
def listed(x: Tensor) -> List[Tensor]:
    return [x + 1, x - 1]


@torch.jit.script
def size_of(x: Tensor) -> int:
    return x.size(0)


@torch.jit.script
def nothing(x: Tensor) -> None:
    return None


@torch.jit.script
def mapped(x: Tensor) -> Dict[str, Tensor]:
    return {'a': x}


@torch.jit.script
def first(xs: List[Tensor]) -> Tensor:
    return xs[0]


@torch.jit.script
def default_to(x: Tensor, y: Optional[Tensor] = None) -> Tensor:
    return x if y is None else y


@torch.jit.script
def nested(x: Tensor) -> Tuple[Tensor, List[Tensor]]:
    return x, [x * 2]


@torch.jit.script
def scaled(x: Tensor, factor: float, name: str, sizes: List[int]) -> Tensor:
    return x * factor + len(name) + sizes[0]


class Halve(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 10):
            return x / 2
        return x / 2 + self.bias

    @torch.jit.export
    def twice(self, x: Tensor, n: int = 2) -> Tensor:
        return x * n


class Plain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu()
