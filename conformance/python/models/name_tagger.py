# make: NameTagger(letters=12, tags=3, width=6)
# make: NameTagger(letters=9, tags=2, width=4, layers=2, tied=True)
# call: forward(whole(2, 7, below=9))
"""Tags each letter of a name: looks at neighbours with convolutions, at all before and behind with a GRU."""
import math
from collections import OrderedDict
from typing import List, NamedTuple, Tuple

import torch
import torch.nn.functional as F
from torch import nn


class Tagged(NamedTuple):
    scores: torch.Tensor
    best: torch.Tensor


def neighbours(width: int, reach: int) -> nn.Sequential:
    parts = OrderedDict()
    parts['look'] = nn.Conv1d(width, width, kernel_size=2 * reach + 1, padding=reach, groups=width)
    parts['join'] = nn.Conv1d(width, width, kernel_size=1)
    parts['bend'] = nn.LeakyReLU(0.1)
    return nn.Sequential(parts)


class Embedded(nn.Module):
    scale: float

    def __init__(self, letters, width):
        super(Embedded, self).__init__()
        self.table = nn.Embedding(letters, width, padding_idx=0)
        self.scale = math.sqrt(width)

    def forward(self, ids):
        return self.table(ids) * self.scale


class NameTagger(nn.Module):
    __constants__ = ['layers']

    def __init__(self, letters, tags, width, layers=1, reaches=(1, 2), tied=False):
        super(NameTagger, self).__init__()
        assert width % 2 == 0, 'both directions of the GRU get half of the width'
        self.layers = layers
        self.letters = Embedded(letters, width)
        looks = [neighbours(width, reach) for reach in reaches]
        if tied:
            looks[-1].join.weight = looks[0].join.weight
        self.looks = nn.ModuleList(looks)
        self.read = nn.GRU(width, width // 2, num_layers=layers, bidirectional=True, batch_first=True)
        self.tags = nn.ParameterList([nn.Parameter(torch.ones(width) * (i + 1) / tags) for i in range(tags)])
        self.drop = nn.Dropout(p=0.2)

    @property
    def directions(self) -> int:
        return 2

    def begin(self, batch: int, width: int) -> torch.Tensor:
        return torch.zeros(self.layers * self.directions, batch, width // 2)

    def forward(self, ids: torch.Tensor) -> Tagged:
        x = self.letters(ids)
        near = x.transpose(1, 2)
        for look in self.looks:
            near = near + look(near)
        x = self.drop(near.transpose(1, 2))
        x, _ = self.read(x, self.begin(x.size(0), x.size(2)))
        scores: List[torch.Tensor] = []
        for tag in self.tags:
            scores.append((x * tag).sum(-1))
        found = F.log_softmax(torch.stack(scores, -1), dim=-1)
        return Tagged(found, found.argmax(-1))


def spans(best: torch.Tensor) -> List[Tuple[int, int]]:
    """Where tags change: for people to look at, never compiled."""
    return [(at, int(tag)) for at, tag in enumerate(best) if at == 0 or tag != best[at - 1]]


if __name__ == '__main__':
    print(spans(NameTagger(9, 2, 4).eval()(torch.arange(7)[None]).best[0]))
