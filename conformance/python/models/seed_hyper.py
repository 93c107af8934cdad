# make: SeedHyper(2, 3)
# make: SeedHyper(2, 3, layers=[4, 4], scale=0.5, first='linear')
# call: forward(numbers(5, 2), numbers(3))
"""A small net whose weights another net writes: coordinates in, colours out."""
import math
from typing import Dict, List, Optional, Tuple

import torch
from torch import nn, Tensor


class Sine(nn.Module):
    def __init__(self, rate: float = 6.0):
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.rate * x)


class WavesOf(nn.Module):
    """Coordinates as waves of rising rates."""

    def __init__(self, size: int, waves: int = 2, keep: bool = True):
        super().__init__()
        self.keep = keep
        self.register_buffer('rates', 2.0 ** torch.arange(waves) * math.pi)
        self.out_size = size * waves * 2 + (size if keep else 0)

    def forward(self, x: Tensor) -> Tensor:
        angles = (x.unsqueeze(-1) * self.rates).flatten(-2)
        waves = torch.cat([angles.sin(), angles.cos()], -1)
        if self.keep:
            return torch.cat([x, waves], -1)
        return waves


class Writer(nn.Module):
    def __init__(self, code: int, shapes: List[Tuple[int, int]], hidden: int = 6, scale: float = 1.0):
        super().__init__()
        self.shapes: List[Tuple[int, int]] = shapes
        self.scale = scale
        self.trunk = nn.Sequential(nn.Linear(code, hidden), nn.ReLU())
        self.weights = nn.ModuleList(nn.Linear(hidden, rows * columns) for rows, columns in shapes)
        self.biases = nn.ModuleList(nn.Linear(hidden, rows, bias=False) for rows, _ in shapes)
        for (rows, columns), layer in zip(shapes, self.weights):
            nn.init.uniform_(layer.bias, -1 / columns, 1 / columns)
            layer.weight.data *= 0.1

    def forward(self, code: Tensor) -> Tuple[List[Tensor], List[Tensor]]:
        hidden = self.trunk(code)
        weights: List[Tensor] = []
        biases: List[Tensor] = []
        for i, (write, bias) in enumerate(zip(self.weights, self.biases)):
            rows, columns = self.shapes[i]
            weights.append(write(hidden).view(rows, columns) * self.scale)
            biases.append(bias(hidden))
        return weights, biases


class SeedHyper(nn.Module):
    FIRSTS = {'waves': WavesOf, 'linear': None}

    def __init__(self, size: int, code: int, colours: int = 3, layers: Optional[List[int]] = None, scale: float = 1.0, first: str = 'waves'):
        super().__init__()
        make_first = self.FIRSTS[first]
        self.first = make_first(size) if make_first is not None else nn.Linear(size, size * 2)
        inner = self.first.out_size if make_first else self.first.out_features
        sizes = [inner, *(layers or [5]), colours]
        self.writer = Writer(code, [(b, a) for a, b in zip(sizes, sizes[1:])], scale=scale)
        self.act = Sine()
        self.depth = len(sizes) - 1

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        weights, biases = self.writer(code)
        x = self.first(x)
        for i in range(self.depth):
            x = nn.functional.linear(x, weights[i], biases[i])
            if i < self.depth - 1:
                x = self.act(x)
        return (x + 1) / 2
