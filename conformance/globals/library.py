from enum import Enum
from typing import List, NamedTuple, Optional

import torch
from torch import nn, Tensor


class Color(Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: int
    y: int


@torch.jit.script
class Tally:
    def __init__(self, start: int):
        self.count = start

    def add(self, n: int) -> int:
        self.count += n
        return self.count


@torch.jit.script
def swish(x: Tensor, beta: float = 1.0) -> Tensor:
    return x * torch.sigmoid(beta * x)


@torch.jit.script
def clip(x: Tensor, low: Optional[float] = None) -> Tensor:
    if low is not None:
        x = x.clamp(min=low)
    return x


@torch.jit.script
def pick(c: Color) -> int:
    if c == Color.RED:
        return 10
    return 20


@torch.jit.script
def ramp(n: int) -> List[int]:
    out: List[int] = []
    for i in range(n):
        out.append(i * i)
    return out


class Scale(nn.Module):
    def __init__(self, factor: float = 3.0):
        super().__init__()
        self.factor = factor
        self.bias = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor + self.bias

    @torch.jit.export
    def undo(self, x: Tensor) -> Tensor:
        return (x - self.bias) / self.factor
