# make: PairJudge(9, 4)
# make: PairJudge(9, 4, hidden=3, bidirectional=False, how='dot')
# call: forward(whole(2, 6, below=9), torch.tensor([6, 4]), whole(2, 5, below=8), torch.tensor([2, 5]))
"""Says how alike two texts are: one encoder of packed sequences for both."""
import enum
from typing import List, NamedTuple, Optional, Tuple

import torch
from torch import nn, Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class How(enum.Enum):
    DOT = 'dot'
    DISTANCE = 'distance'


class Judgement(NamedTuple):
    score: Tensor
    left: Tensor
    right: Tensor


class TextEncoder(nn.Module):
    def __init__(self, words: int, width: int, hidden: int, bidirectional: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width, padding_idx=0)
        self.rnn = nn.GRU(width, hidden, batch_first=True, bidirectional=bidirectional)
        self.width = hidden * (2 if bidirectional else 1)
        self.query = nn.Parameter(torch.empty(self.width).uniform_(-0.5, 0.5))

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.rnn(packed)
        states, sizes = pad_packed_sequence(out, batch_first=True)
        places = torch.arange(states.size(1))
        beyond = places[None, :] >= sizes[:, None]
        weights = (states @ self.query).masked_fill(beyond, -1e4).softmax(1)
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1)


class PairJudge(nn.Module):
    def __init__(self, words: int, width: int, hidden: int = 4, bidirectional: bool = True, how: str = 'distance') -> None:
        super().__init__()
        self.encoder = TextEncoder(words, width, hidden, bidirectional)
        self.how = How(how)
        inner = self.encoder.width
        self.project = nn.Sequential(nn.Linear(inner, inner), nn.Tanh(), nn.Linear(inner, 3))
        self.temperature = nn.Parameter(torch.tensor(0.5))

    def compare(self, a: Tensor, b: Tensor) -> Tensor:
        if self.how == How.DOT:
            return (a * b).sum(-1)
        return -(a - b).norm(p=2, dim=-1)

    def forward(self, left: Tensor, left_lengths: Tensor, right: Tensor, right_lengths: Tensor) -> Judgement:
        a = self.project(self.encoder(left, left_lengths))
        b = self.project(self.encoder(right, right_lengths))
        return Judgement(torch.sigmoid(self.compare(a, b) / self.temperature.exp()), a, b)
