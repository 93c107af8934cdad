# make: RoutedStack(6, 8, experts=4, chosen=2)
# make: RoutedStack(4, 4, experts=3, chosen=1, depth=1, heads=2)
# call: forward(whole(2, 5, below=4))
"""A reader of tokens in which a few experts of several read each token, those that it is routed to."""
import math
from typing import Final, Optional

import torch
from torch import Tensor, nn


class Attending(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.all = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.all(x).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        if mask is not None:
            scores = scores.masked_fill(mask, float('-inf'))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, width))


class Counted:
    """How many parameters something has, told when it is made."""

    def count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


class Routed(nn.Module, Counted):
    chosen: Final[int]

    def __init__(self, width: int, experts: int, chosen: int):
        super().__init__()
        self.chosen = chosen
        self.route = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)) for _ in range(experts)])
        self.register_buffer('order', torch.arange(experts), persistent=False)
        self.size = self.count()

    def forward(self, x: Tensor) -> Tensor:
        weights, places = self.route(x).softmax(-1).topk(self.chosen, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for at, expert in enumerate(self.experts):
            share = (weights * (places == self.order[at])).sum(-1, keepdim=True)
            out = out + share * expert(x)
        return out


class Reader(nn.Module):
    def __init__(self, width, heads, experts, chosen):
        super().__init__()
        self.before = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.attending = Attending(width, heads)
        self.routed = Routed(width, experts, chosen)

    def forward(self, x, mask):
        x = x + self.attending(self.before[0](x), mask)
        return x + self.routed(self.before[1](x))


class RoutedStack(nn.Module):
    def __init__(self, tokens: int, width: int, *, experts: int, chosen: int = 2, depth: int = 2, heads: int = 1):
        super().__init__()
        if chosen > experts:
            raise ValueError(f'{chosen} of {experts} experts cannot be chosen')
        self.embed = nn.Embedding(tokens, width)
        self.readers = nn.ModuleList()
        for at in range(depth):
            self.readers.append(Reader(width, heads, experts, chosen if at else 1))
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.embed.weight

    def mask(self, tokens: int) -> Tensor:
        return torch.ones(tokens, tokens, dtype=torch.bool).triu(1)

    def forward(self, ids: Tensor):
        x = self.embed(ids)
        mask = self.mask(ids.size(1))
        for reader in self.readers:
            x = reader(x, mask)
        return self.head(x)

    @torch.jit.unused
    def describe(self) -> str:
        return '\n'.join(f'{name}: {tuple(each.shape)}' for name, each in self.named_parameters())
