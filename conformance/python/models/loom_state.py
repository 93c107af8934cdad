# make: LoomLM(tokens=12)
# make: LoomLM(tokens=11, width=6, depth=1, conv=2)
# call: forward(whole(2, 6, below=12))
"""Reads with states that fade at rates which depend on what is read."""
import math
from dataclasses import dataclass
from typing import Dict, Optional, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


@dataclass
class LoomArgs:
    width: int = 8
    depth: int = 2
    state: int = 3
    expand: int = 2
    rank: Union[int, str] = 'auto'
    conv: int = 3
    bias: bool = False

    def __post_init__(self):
        self.inner = self.expand * self.width
        if self.rank == 'auto':
            self.rank = math.ceil(self.width / 4)


class RMS(nn.Module):
    def __init__(self, width: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Loom(nn.Module):
    def __init__(self, args: LoomArgs):
        super().__init__()
        self.rank: int = args.rank
        self.state = args.state
        self.enter = nn.Linear(args.width, args.inner * 2, bias=args.bias)
        self.conv = nn.Conv1d(args.inner, args.inner, args.conv, groups=args.inner, padding=args.conv - 1)
        self.told = nn.Linear(args.inner, args.rank + args.state * 2, bias=False)
        self.rate = nn.Linear(args.rank, args.inner)
        a = torch.arange(1, args.state + 1).float().repeat(args.inner, 1)
        self.log_a = nn.Parameter(torch.log(a))
        self.through = nn.Parameter(torch.ones(args.inner))
        self.leave = nn.Linear(args.inner, args.width, bias=args.bias)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        x, gate = self.enter(x).chunk(2, dim=-1)
        x = F.silu(self.conv(x.transpose(1, 2))[:, :, :length].transpose(1, 2))
        return self.leave(self.scan(x) * F.silu(gate))

    def scan(self, x: Tensor) -> Tensor:
        b, length, inner = x.shape
        fade = -torch.exp(self.log_a.float())
        rate, into, out = self.told(x).split([self.rank, self.state, self.state], dim=-1)
        rate = F.softplus(self.rate(rate))
        keep = torch.exp(torch.einsum('bld,dn->bldn', rate, fade))
        add = torch.einsum('bld,bln,bld->bldn', rate, into, x)
        h = torch.zeros(b, inner, self.state)
        ys = []
        for i in range(length):
            h = keep[:, i] * h + add[:, i]
            ys.append(torch.einsum('bdn,bn->bd', h, out[:, i]))
        return torch.stack(ys, dim=1) + x * self.through


class Residual(nn.Module):
    def __init__(self, args: LoomArgs):
        super().__init__()
        self.mixer, self.norm = Loom(args), RMS(args.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.mixer(self.norm(x)) + x


class LoomLM(nn.Module):
    def __init__(self, tokens: int, **settings):
        super().__init__()
        args = LoomArgs(**settings)
        tokens = tokens + (4 - tokens % 4) % 4
        self.embedding = nn.Embedding(tokens, args.width)
        self.layers = nn.ModuleList([Residual(args) for _ in range(args.depth)])
        self.norm = RMS(args.width)
        self.head = nn.Linear(args.width, tokens, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
