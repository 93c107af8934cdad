# make: sieve_mixer('S/4', image=8)
# make: sieve_mixer('B/2', image=4, experts=3, top=2)
# call: forward(numbers(2, 3, 8, 8)[:, :, :8, :8])
"""Mixes tiles and channels; channels may go to a few experts."""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZES: Dict[str, Dict[str, Any]] = {'S': dict(width=6, depth=1, tokens=4), 'B': dict(width=8, depth=2, tokens=6)}


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: int, act: Callable[[], nn.Module] = nn.GELU):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = act()
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.act(self.fc1(x)))


class Experts(nn.Module):
    def __init__(self, width: int, hidden: int, count: int, top: int = 1):
        super().__init__()
        self.top = top
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList([Mlp(width, hidden) for _ in range(count)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shares = F.softmax(self.gate(x), dim=-1)
        value, place = torch.topk(shares, self.top, dim=-1)
        value = value / value.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = torch.where(place == i, value, torch.zeros_like(value)).sum(-1, keepdim=True)
            out = out + share * expert(x)
        return out


class MixerBlock(nn.Module):
    def __init__(self, count: int, width: int, tokens: int, experts: int, top: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = Mlp(count, tokens)
        self.channels = Experts(width, 2 * width, experts, top) if experts else Mlp(width, 2 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class SieveMixer(nn.Module):
    def __init__(self, image: int, patch: int, width: int, depth: int, tokens: int, classes: int = 3, experts: int = 0, top: int = 1):
        super().__init__()
        if image % patch != 0:
            raise ValueError(f'tiles of {patch} do not fill {image}')
        self.image = image
        self.stem = nn.Conv2d(3, width, patch, stride=patch)
        count = (image // patch) ** 2
        blocks = [MixerBlock(count, width, tokens, experts if i % 2 == 0 else 0, top) for i in range(depth)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)
        nn.init.zeros_(self.head.bias)

    @classmethod
    def from_name(cls, name: str, **kwargs: Any) -> SieveMixer:
        size, _, patch = name.partition('/')
        return cls(patch=int(patch), **SIZES[size], **kwargs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x[:, :, : self.image, : self.image]
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def sieve_mixer(name: str, **kwargs: Any) -> SieveMixer:
    return SieveMixer.from_name(name, **kwargs)
