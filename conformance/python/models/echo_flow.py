# make: EchoFlow(4)
# make: EchoFlow(4, steps=1, additive=True)
# call: forward(numbers(3, 4))
# call: inverse(numbers(2, 4))
"""A flow that can be run backwards: couplings of halves, with a norm that starts from data."""
from typing import List, Tuple

import torch
from torch import nn, Tensor


class Shift(nn.Module):
    """Centres and scales; both directions."""

    def __init__(self, size: int):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(size))
        self.log_scale = nn.Parameter(torch.linspace(-0.2, 0.2, size))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return (x - self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(x.size(0))

    @torch.jit.export
    def inverse(self, y: Tensor) -> Tensor:
        return y * torch.exp(-self.log_scale) + self.loc


class Coupling(nn.Module):
    __constants__ = ['flip', 'additive']

    def __init__(self, size: int, flip: bool, additive: bool = False):
        super().__init__()
        self.half = size // 2
        self.flip = flip
        self.additive = additive
        rest = size - self.half
        self.net = nn.Sequential(nn.Linear(self.half, 6), nn.ELU(), nn.Linear(6, rest if additive else 2 * rest))
        nn.init.normal_(self.net[-1].weight, std=0.3)

    def _parts(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        if self.flip:
            x = x.flip(-1)
        a, b = x[:, : self.half], x[:, self.half :]
        return a, b

    def _changes(self, a: Tensor) -> Tuple[Tensor, Tensor]:
        if self.additive:
            shift = self.net(a)
            return torch.zeros_like(shift), shift
        scale, shift = self.net(a).chunk(2, dim=-1)
        return torch.tanh(scale), shift

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        a, b = self._parts(x)
        scale, shift = self._changes(a)
        return torch.cat([a, b * scale.exp() + shift], -1), scale.sum(-1)

    @torch.jit.export
    def inverse(self, y: Tensor) -> Tensor:
        a, b = y[:, : self.half], y[:, self.half :]
        scale, shift = self._changes(a)
        x = torch.cat([a, (b - shift) * torch.exp(-scale)], -1)
        return x.flip(-1) if self.flip else x


class EchoFlow(nn.Module):
    def __init__(self, size: int, steps: int = 2, additive: bool = False):
        super().__init__()
        self.norms = nn.ModuleList(Shift(size) for _ in range(steps))
        self.couplings = nn.ModuleList(Coupling(size, bool(i % 2), additive) for i in range(steps))
        self.size = size

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        total = torch.zeros(x.size(0))
        for norm, coupling in zip(self.norms, self.couplings):
            x, change = norm(x)
            total = total + change
            x, change = coupling(x)
            total = total + change
        prior = -0.5 * (x * x).sum(-1) - 0.9189385 * self.size
        return x, prior + total

    @torch.jit.export
    def inverse(self, y: Tensor) -> Tensor:
        outputs: List[Tensor] = [y]
        for at in range(len(self.norms)):
            last = outputs[-1]
            for place, (norm, coupling) in enumerate(zip(self.norms, self.couplings)):
                if place == len(self.norms) - 1 - at:
                    last = norm.inverse(coupling.inverse(last))
            outputs.append(last)
        return outputs[-1]
