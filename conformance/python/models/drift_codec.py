# make: DriftCodec()
# make: DriftCodec(entries=5, width=3, rates=[2], ema=True)
# call: forward(numbers(2, 2, 16))
# call: encode(numbers(1, 2, 8))
"""Squeezes signals into entries of a book and back."""
from typing import List, NamedTuple, Tuple

import torch
import torch.nn.functional as F
from torch import nn, Tensor


class Coded(NamedTuple):
    signal: Tensor
    codes: Tensor
    loss: Tensor


class Snake(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x + (1 / (self.alpha + 1e-9)) * torch.sin(self.alpha * x).pow(2)


class Unit(nn.Module):
    def __init__(self, width: int, reach: int):
        super().__init__()
        pad = (7 - 1) * reach // 2
        self.block = nn.Sequential(Snake(width), nn.Conv1d(width, width, 7, dilation=reach, padding=pad), Snake(width), nn.Conv1d(width, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        cut = (x.shape[-1] - y.shape[-1]) // 2
        if cut > 0:
            x = x[..., cut:-cut]
        return x + y


class Book(nn.Module):
    usage: Tensor

    def __init__(self, entries: int, width: int, ema: bool):
        super().__init__()
        self.ema = ema
        table = torch.linspace(-1, 1, entries * width).view(entries, width)
        if ema:
            self.register_buffer('table', table)
        else:
            self.table = nn.Parameter(table)
        self.register_buffer('usage', torch.zeros(entries), persistent=False)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        flat = x.transpose(1, 2)
        far = flat.pow(2).sum(-1, keepdim=True) - 2 * flat @ self.table.t() + self.table.pow(2).sum(-1)
        codes = far.argmin(-1)
        found = F.embedding(codes, self.table).transpose(1, 2)
        loss = F.mse_loss(x, found.detach())
        if not self.ema:
            loss = loss + F.mse_loss(found, x.detach())
        if self.training:
            self.usage += torch.bincount(codes.flatten(), minlength=self.usage.numel())
        return x + (found - x).detach(), codes, loss


class DriftCodec(nn.Module):
    def __init__(self, channels: int = 2, width: int = 4, rates: List[int] = (2, 2), entries: int = 8, ema: bool = False):
        super().__init__()
        down: List[nn.Module] = [nn.Conv1d(channels, width, 3, padding=1)]
        for rate in rates:
            down += [Unit(width, 1), Snake(width), nn.Conv1d(width, width, 2 * rate, stride=rate, padding=rate // 2)]
        up: List[nn.Module] = []
        for rate in reversed(rates):
            up += [Snake(width), nn.ConvTranspose1d(width, width, 2 * rate, stride=rate, padding=rate // 2), Unit(width, 3)]
        self.down = nn.Sequential(*down)
        self.book = Book(entries, width, ema)
        self.up = nn.Sequential(*up, nn.Conv1d(width, channels, 3, padding=1), nn.Tanh())

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return self.book(self.down(x))[1]

    def forward(self, x: Tensor) -> Coded:
        hidden, codes, loss = self.book(self.down(x))
        return Coded(self.up(hidden), codes, loss)
