# make: StairFormer(tokens=11, width=8)
# make: StairFormer(tokens=11, width=8, heads=4, tie=True, norm='rms')
# call: forward(whole(2, 5, below=11))
# call: scores(whole(1, 3, below=11), 0.5)
"""A causal language model with rotated positions, and a choice of norms by name."""
import math
from functools import partial
from typing import Callable, Dict, Optional, Tuple

import torch
from torch import nn, Tensor
from torch.nn import functional as F

NORMS: Dict[str, Callable[[int], nn.Module]] = {}


def register_norm(name: str):
    def add(cls):
        assert name not in NORMS, f'{name} is there already'
        NORMS[name] = cls
        return cls

    return add


@register_norm('layer')
class PlainNorm(nn.LayerNorm):
    def __init__(self, width: int):
        super().__init__(width, eps=1e-6)


@register_norm('rms')
class RootNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(width))

    def _scale(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x: Tensor) -> Tensor:
        return self._scale(x.float()).type_as(x) * self.gain


def rotations(width: int, length: int, base: float = 1000.0) -> Tuple[Tensor, Tensor]:
    rates = base ** (-torch.arange(0, width, 2).float() / width)
    angles = torch.outer(torch.arange(length).float(), rates)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class Look(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        if width % heads:
            raise ValueError(f'{width} is no multiple of {heads}')
        self.heads = heads
        self.size = width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.size).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = rotate(q, cos[:t], sin[:t]), rotate(k, cos[:t], sin[:t])
        near = (q @ k.transpose(-2, -1)) / math.sqrt(self.size)
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        near = near.masked_fill(hidden, float('-inf')).softmax(-1)
        return self.out((near @ v).transpose(1, 2).reshape(b, t, c))


class Gate(nn.Module):
    def __init__(self, width: int, ratio: float = 2.0):
        super().__init__()
        inner = int(width * ratio)
        self.up, self.gate = nn.Linear(width, inner), nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Stair(nn.Module):
    def __init__(self, width: int, heads: int, norm: Callable[[int], nn.Module]):
        super().__init__()
        self.norms = nn.ModuleList(norm(width) for _ in range(2))
        self.look = Look(width, heads)
        self.gate = Gate(width)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.look(self.norms[0](x), cos, sin)
        return x + self.gate(self.norms[1](x))


class StairFormer(nn.Module):
    def __init__(self, tokens: int, width: int = 16, heads: int = 2, depth: int = 2, length: int = 8, tie: bool = False, norm: str = 'layer'):
        super().__init__()
        make_norm = NORMS[norm]
        self.embed = nn.Embedding(tokens, width)
        cos, sin = rotations(width // heads, length)
        self.register_buffer('cos', cos, persistent=False)
        self.register_buffer('sin', sin, persistent=False)
        self.stairs = nn.ModuleList([Stair(width, heads, make_norm) for _ in range(depth)])
        self.norm = make_norm(width)
        self.head = nn.Linear(width, tokens, bias=False)
        if tie:
            self.head.weight = self.embed.weight
        for name, p in self.named_parameters():
            if name.endswith(('out.weight', 'down.weight')):
                nn.init.normal_(p, std=0.2 / math.sqrt(2 * depth))

    def forward(self, ids: Tensor, keep: Optional[Tensor] = None) -> Tensor:
        x = self.embed(ids)
        if keep is not None:
            x = x * keep.unsqueeze(-1)
        for stair in self.stairs:
            x = stair(x, self.cos, self.sin)
        return self.head(self.norm(x))

    @torch.jit.export
    def scores(self, ids: Tensor, warmth: float = 1.0) -> Tensor:
        return F.softmax(self.forward(ids, None)[:, -1] / warmth, dim=-1)

    @torch.no_grad()
    def generate(self, ids, steps, **options):
        for _ in range(steps):
            ids = torch.cat([ids, self.scores(ids, **options).argmax(-1, keepdim=True)], 1)
        return ids
