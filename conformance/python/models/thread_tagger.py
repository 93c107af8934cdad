# make: Thread(chars=7, words=6, tags=['O', 'B', 'I'])
# make: Thread(7, 6, tags=4, rnn='GRU', crf=False)
# call: forward(whole(2, 5, below=6), whole(2, 5, 3, below=7))
"""Tags words that it spells: characters, words, a recurrent layer by name, and the best path."""
from functools import cached_property
from typing import List, Optional, Sequence, Tuple, Union

import torch
from torch import nn, Tensor


class Speller(nn.Module):
    def __init__(self, chars: int, width: int, kernels: Sequence[int] = (2, 3)) -> None:
        super().__init__()
        self.embed = nn.Embedding(chars, width)
        self.convs = nn.ModuleDict({f'k{k}': nn.Conv1d(width, 2, k, padding=k - 1) for k in kernels})

    @cached_property
    def output_size(self) -> int:
        return sum(conv.out_channels for conv in self.convs.values())

    def forward(self, chars: Tensor) -> Tensor:
        b, t, n = chars.shape
        x = self.embed(chars.view(b * t, n)).transpose(1, 2)
        parts: List[Tensor] = []
        for conv in self.convs.values():
            parts.append(torch.relu(conv(x)).max(dim=2).values)
        return torch.cat(parts, 1).view(b, t, -1)


class BestPath(nn.Module):
    """Scores of steps between tags; finds the likeliest row of tags."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.arange(tags * tags).float().view(tags, tags).cos() * 0.5)
        self.first = nn.Parameter(torch.zeros(tags))

    def forward(self, scores: Tensor) -> Tuple[Tensor, Tensor]:
        best = scores[:, 0] + self.first
        back: List[Tensor] = []
        for at in range(1, scores.size(1)):
            value, place = (best.unsqueeze(2) + self.steps).max(dim=1)
            back.append(place)
            best = value + scores[:, at]
        total, last = best.max(dim=1)
        path = [last]
        for i in range(len(back)):
            last = back[len(back) - 1 - i].gather(1, last.unsqueeze(1)).squeeze(1)
            path.append(last)
        return torch.stack(path, 1).flip(1), total


class Thread(nn.Module):
    def __init__(self, chars: int, words: int, tags: Union[int, List[str]], width: int = 4, rnn: str = 'LSTM', crf: bool = True) -> None:
        super().__init__()
        self.names: List[str] = [f'tag{i}' for i in range(tags)] if isinstance(tags, int) else tags
        count = len(self.names)
        self.speller = Speller(chars, 3)
        self.words = nn.Embedding(words, width)
        self.rnn = getattr(nn, rnn)(width + self.speller.output_size, 3, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(6, count)
        self.path = BestPath(count) if crf else None
        for name, p in self.rnn.named_parameters():
            if 'bias_hh' in name:
                nn.init.zeros_(p)
            elif name.startswith('weight'):
                nn.init.orthogonal_(p)

    def forward(self, words: Tensor, chars: Tensor) -> Tuple[List[List[str]], Tensor]:
        x = torch.cat([self.words(words), self.speller(chars)], dim=-1)
        scores = self.tags(self.rnn(x)[0])
        if self.path is not None:
            path, total = self.path(scores)
        else:
            total, path = scores.max(-1)
            total = total.sum(-1)
        named: List[List[str]] = []
        for row in path:
            told: List[str] = []
            for tag in row:
                told.append(self.names[int(tag)])
            named.append(told)
        return named, total
