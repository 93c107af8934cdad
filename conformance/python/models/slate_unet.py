# make: build(channels=2, widths=[4, 6])
# make: build(channels=2, widths=[3, 3, 3], time=False, attend=[2])
# call: forward(numbers(2, 2, 8, 8), torch.tensor([3.0, 7.0]))
"""Takes noise out of pictures, told how much there is."""
import math
from typing import Any, List, Optional, Sequence

import torch
from torch import nn, Tensor


def exists(value: Any) -> bool:
    return value is not None


def default(value: Any, otherwise: Any) -> Any:
    if exists(value):
        return value
    return otherwise() if callable(otherwise) else otherwise


class Moments(nn.Module):
    """Sines and cosines of a time."""

    def __init__(self, width: int):
        super().__init__()
        self.width = width

    def forward(self, t: Tensor) -> Tensor:
        half = self.width // 2
        rates = torch.exp(torch.arange(half, device=t.device) * -(math.log(10000) / (half - 1)))
        angles = t[:, None] * rates[None, :]
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, inner: int, outer: int, *, time: Optional[int] = None):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time, outer * 2)) if exists(time) else None
        self.conv1 = nn.Conv2d(inner, outer, 3, padding=1)
        self.norm = nn.GroupNorm(1, outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1)
        self.short = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: Tensor, told: Optional[Tensor] = None) -> Tensor:
        y = self.norm(self.conv1(x))
        if self.mlp is not None and told is not None:
            scale, shift = self.mlp(told)[:, :, None, None].chunk(2, dim=1)
            y = y * (scale + 1) + shift
        return self.conv2(nn.functional.silu(y)) + self.short(x)


class Attend(nn.Module):
    def __init__(self, width: int, heads: int = 1):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Conv2d(width, width * 3, 1, bias=False), nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        q, k, v = self.qkv(x).view(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        near = torch.einsum('bhdi,bhdj->bhij', q * (c // self.heads) ** -0.5, k).softmax(dim=-1)
        y = torch.einsum('bhij,bhdj->bhid', near, v)
        return x + self.out(y.transpose(2, 3).reshape(b, c, h, w))


class Denoiser(nn.Module):
    def __init__(self, channels: int, widths: Sequence[int], time: bool = True, attend: Sequence[int] = ()):
        super().__init__()
        told = 4 * widths[0] if time else None
        self.moments = nn.Sequential(Moments(widths[0]), nn.Linear(widths[0] // 2 * 2, told), nn.GELU()) if time else None
        self.first = nn.Conv2d(channels, widths[0], 3, padding=1)
        pairs = list(zip(widths[:-1], widths[1:]))
        self.downs = nn.ModuleList([])
        self.ups = nn.ModuleList([])
        for at, (inner, outer) in enumerate(pairs):
            look = Attend(outer) if at + 1 in attend else nn.Identity()
            self.downs.append(nn.ModuleDict({'block': Block(inner, outer, time=told), 'look': look, 'size': nn.AvgPool2d(2)}))
        for inner, outer in reversed(pairs):
            self.ups.append(nn.ModuleDict({'size': nn.Upsample(scale_factor=2), 'block': Block(2 * outer, inner, time=told)}))
        self.last = Block(widths[0] * 2, widths[0], time=told)
        self.out = nn.Conv2d(widths[0], channels, 1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        told: Optional[Tensor] = None
        if self.moments is not None:
            told = self.moments(t)
        x = self.first(x)
        start = x
        kept: List[Tensor] = []
        for down in self.downs:
            x = down['look'](down['block'](x, told))
            kept.append(x)
            x = down['size'](x)
        for up in self.ups:
            x = torch.cat([up['size'](x), kept.pop()], dim=1)
            x = up['block'](x, told)
        return self.out(self.last(torch.cat([x, start], 1), told))


def build(**config: Any) -> Denoiser:
    config['widths'] = default(config.get('widths'), lambda: [4, 8])
    return Denoiser(**config)
