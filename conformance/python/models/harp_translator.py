# make: Harp(source=9, target=8)
# make: Harp(source=9, target=9, share=True, depth=1, post=True)
# call: forward(whole(2, 5, below=9), whole(2, 4, below=8))
# call: greedy(whole(1, 3, below=9), 3)
"""Translates words with PyTorch's transformer layers and sines for places."""
import math
from typing import Optional

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer


class Places(nn.Module):
    pe: Tensor

    def __init__(self, width: int, drop: float = 0.1, longest: int = 16):
        super().__init__()
        self.drop = nn.Dropout(p=drop)
        place = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        pe = torch.zeros(1, longest, width)
        pe[0, :, 0::2] = torch.sin(place * rate)
        pe[0, :, 1::2] = torch.cos(place * rate)
        self.register_buffer('pe', pe)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(x + self.pe[:, : x.size(1)])


class Words(nn.Module):
    def __init__(self, count: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(count, width)
        self.width = width

    def forward(self, ids: Tensor) -> Tensor:
        return self.embedding(ids.long()) * math.sqrt(self.width)


class Harp(nn.Module):
    start: torch.jit.Final[int] = 1

    def __init__(self, source: int, target: int, width: int = 8, heads: int = 2, depth: int = 2, share: bool = False, post: bool = False):
        super().__init__()
        options = dict(d_model=width, nhead=heads, dim_feedforward=2 * width, batch_first=True, norm_first=not post)
        self.encoder = TransformerEncoder(TransformerEncoderLayer(**options), depth, None if post else nn.LayerNorm(width), enable_nested_tensor=False)
        self.decoder = TransformerDecoder(TransformerDecoderLayer(**options), depth, norm=nn.LayerNorm(width))
        self.source = Words(source, width)
        self.target = self.source if share and source == target else Words(target, width)
        self.places = Places(width)
        self.out = nn.Linear(width, target)
        if share:
            self.out.weight = self.target.embedding.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    @staticmethod
    def later(size: int) -> Tensor:
        return torch.triu(torch.full((size, size), float('-inf')), diagonal=1)

    def encode(self, source: Tensor, missing: Optional[Tensor] = None) -> Tensor:
        return self.encoder(self.places(self.source(source)), None, missing)

    def decode(self, target: Tensor, memory: Tensor) -> Tensor:
        return self.decoder(self.places(self.target(target)), memory, self.later(target.size(1)))

    def forward(self, source: Tensor, target: Tensor, missing: Optional[Tensor] = None) -> Tensor:
        memory = self.encode(source, missing)
        return self.out(self.decode(target, memory))

    @torch.jit.export
    def greedy(self, source: Tensor, steps: int) -> Tensor:
        memory = self.encode(source, None)
        told = torch.full((source.size(0), 1), 1, dtype=torch.long)
        for _ in range(steps):
            scores = self.out(self.decode(told, memory)[:, -1])
            told = torch.cat([told, scores.argmax(-1, keepdim=True)], dim=1)
        return told
