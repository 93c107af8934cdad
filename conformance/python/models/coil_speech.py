# make: CoilSpeech(8, 5)
# make: CoilSpeech(8, 5, layers=1, causal=True)
# call: forward(numbers(2, 12, 8), torch.tensor([12, 7]))
"""Hears letters in spectra: strided front, blocks of attention between two halves of feed forward, greedy ends."""
import math
from typing import List, Optional, Tuple

import torch
from torch import nn, Tensor


class Swish(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x.sigmoid()


class Feed(nn.Sequential):
    def __init__(self, width: int, times: int = 2, drop: float = 0.1):
        super().__init__(
            nn.LayerNorm(width), nn.Linear(width, width * times), Swish(), nn.Dropout(drop), nn.Linear(width * times, width), nn.Dropout(drop)
        )


class ConvPart(nn.Module):
    def __init__(self, width: int, kernel: int, causal: bool):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Conv1d(width, 2 * width, 1)
        self.pad = nn.ConstantPad1d((kernel - 1, 0) if causal else (kernel // 2, kernel // 2), 0.0)
        self.deep = nn.Conv1d(width, width, kernel, groups=width)
        self.group = nn.GroupNorm(2, width)
        self.act = Swish()
        self.narrow = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x).transpose(1, 2)
        x = nn.functional.glu(self.wide(x), dim=1)
        x = self.act(self.group(self.deep(self.pad(x))))
        return self.narrow(x).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, width: int, heads: int, kernel: int = 3, causal: bool = False):
        super().__init__()
        self.before, self.after = Feed(width), Feed(width)
        self.norm = nn.LayerNorm(width)
        self.look = nn.MultiheadAttention(width, heads, batch_first=True)
        self.conv = ConvPart(width, kernel, causal)
        self.last = nn.LayerNorm(width)

    def forward(self, x: Tensor, beyond: Tensor) -> Tensor:
        x = x + 0.5 * self.before(x)
        y = self.norm(x)
        x = x + self.look(y, y, y, key_padding_mask=beyond, need_weights=False)[0]
        x = x + self.conv(x)
        return self.last(x + 0.5 * self.after(x))


class CoilSpeech(nn.Module):
    def __init__(self, bins: int, letters: int, width: int = 8, heads: int = 2, layers: int = 2, **options):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2, padding=1), nn.ReLU())
        self.lift = nn.Linear(2 * math.ceil(bins / 2), width)
        self.blocks = nn.ModuleList([Block(width, heads, **options) for _ in range(layers)])
        self.letters = nn.Linear(width, letters + 1)
        self.blank: int = letters

    def shorter(self, lengths: Tensor) -> Tensor:
        return torch.div(lengths + 1, 2, rounding_mode='floor')

    def forward(self, x: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor, List[List[int]]]:
        x = self.front(x.unsqueeze(1))
        b, c, t, f = x.shape
        x = self.lift(x.permute(0, 2, 1, 3).reshape(b, t, c * f))
        lengths = self.shorter(lengths)
        beyond = torch.arange(t, device=x.device).unsqueeze(0) >= lengths.unsqueeze(1)
        for block in self.blocks:
            x = block(x, beyond)
        scores = self.letters(x).log_softmax(-1)
        return scores, lengths, self.read(scores, lengths)

    def read(self, scores: Tensor, lengths: Tensor) -> List[List[int]]:
        """The likeliest letters, without blanks and repetitions."""
        found: List[List[int]] = []
        best = scores.argmax(-1)
        for row in range(best.size(0)):
            told: List[int] = []
            last = -1
            for at in range(int(lengths[row])):
                letter = int(best[row, at])
                if letter != last and letter != self.blank:
                    told.append(letter)
                last = letter
            found.append(told)
        return found
