# make: Vane(past=8, future=3)
# make: Vane(past=8, future=2, kinds=['trend', 'season', 'free'], share=True)
# call: forward(numbers(2, 8))
"""Tells what comes next in a series: stacks of blocks, each of which explains a part and takes it away."""
import abc
from typing import List, Tuple, Type

import torch
from torch import nn, Tensor


class Basis(nn.Module, abc.ABC):
    """Two tables of curves, for what was and for what comes."""

    def __init__(self, past: int, future: int, size: int):
        super().__init__()
        back, ahead = self.curves(past, future, size)
        self.register_buffer('back', back)
        self.register_buffer('ahead', ahead)
        self.size = size

    @classmethod
    @abc.abstractmethod
    def curves(cls, past: int, future: int, size: int) -> Tuple[Tensor, Tensor]:
        ...

    def forward(self, theta: Tensor) -> Tuple[Tensor, Tensor]:
        first, second = theta[:, : self.size], theta[:, self.size :]
        return first @ self.back, second @ self.ahead


class Trend(Basis):
    @classmethod
    def curves(cls, past, future, size):
        def powers(length):
            return torch.stack([(torch.arange(length) / length) ** i for i in range(size)])

        return powers(past), powers(future)


class Season(Basis):
    @classmethod
    def curves(cls, past, future, size):
        def waves(length):
            grid = 2 * torch.pi * torch.arange(length) / length
            return torch.stack([torch.cos(grid * (i // 2 + 1)) if i % 2 == 0 else torch.sin(grid * (i // 2 + 1)) for i in range(size)])

        return waves(past), waves(future)


class Free(nn.Module):
    def __init__(self, past: int, future: int, size: int):
        super().__init__()
        self.size = size
        self.back, self.ahead = nn.Linear(size, past, bias=False), nn.Linear(size, future, bias=False)

    def forward(self, theta: Tensor) -> Tuple[Tensor, Tensor]:
        return self.back(theta[:, : self.size]), self.ahead(theta[:, self.size :])


class Block(nn.Module):
    def __init__(self, past: int, basis: nn.Module, hidden: int = 6, depth: int = 2):
        super().__init__()
        sizes = [past] + [hidden] * depth
        self.fc = nn.Sequential(*[m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())])
        self.theta = nn.Linear(hidden, 2 * basis.size)
        self.basis = basis

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return self.basis(self.theta(self.fc(x)))


class Vane(nn.Module):
    KINDS = {'trend': Trend, 'season': Season, 'free': Free}

    def __init__(self, past: int, future: int, kinds: List[str] = ['trend', 'season'], blocks: int = 2, share: bool = False):
        super().__init__()
        self.future = future
        self.stacks = nn.ModuleList()
        for kind in kinds:
            make = lambda: Block(past, self.KINDS[kind](past, future, 2 if kind == 'trend' else 4))
            made = [make()] * blocks if share else [make() for _ in range(blocks)]
            self.stacks.append(nn.ModuleList(made))

    def forward(self, x: Tensor) -> Tuple[Tensor, List[Tensor]]:
        level = x[:, -1:].clone()
        rest = x - level
        total = level.repeat(1, self.future)
        parts: List[Tensor] = []
        for stack in self.stacks:
            part = torch.zeros(x.size(0), self.future)
            for block in stack:
                back, ahead = block(rest)
                rest = rest - back
                part = part + ahead
            parts.append(part)
            total = total + part
        return total, parts
