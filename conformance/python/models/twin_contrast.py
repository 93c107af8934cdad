# make: Twin(dict(width=4), dict(vocab=9))
# make: Twin({}, {'vocab': 9, 'depth': 2}, shared=5, momentum=0.9)
# call: forward(numbers(2, 3, 8, 8), whole(2, 5, below=9))
"""Brings pictures and their texts near each other; copies of the towers follow slowly."""
import copy
from typing import Dict, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn, Tensor


class Picture(nn.Module):
    def __init__(self, width: int = 6, stages: int = 2):
        super().__init__()
        layers = []
        for i in range(stages):
            layers.append(('conv%d' % i, nn.Conv2d(3 if i == 0 else width, width, 3, stride=2, padding=1)))
            layers.append(('bn%d' % i, nn.BatchNorm2d(width)))
            layers.append(('act%d' % i, nn.ReLU()))
        for name, layer in layers:
            self.add_module(name, layer)
        self.names = [name for name, _ in layers]
        self.body = nn.Sequential(*[getattr(self, name) for name in self.names])
        for name in self.names:
            delattr(self, name)
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).mean((2, 3))


class Text(nn.Module):
    def __init__(self, vocab: int, width: int = 6, depth: int = 1, heads: int = 2, longest: int = 8):
        super().__init__()
        self.width = width
        self.token = nn.Embedding(vocab, width)
        self.place = nn.Parameter(torch.empty(longest, width))
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, activation='gelu', batch_first=True, norm_first=True)
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.initialize()

    def initialize(self):
        nn.init.normal_(self.token.weight, std=0.02)
        nn.init.normal_(self.place, std=0.01)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token(ids) + self.place[: ids.size(1)]
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return x[torch.arange(x.shape[0]), ids.argmax(dim=-1)]


class Twin(nn.Module):
    def __init__(self, picture: Dict, text: Dict, shared: int = 4, momentum: Optional[float] = None):
        super().__init__()
        self.picture, self.text = Picture(**picture), Text(**text)
        self.to_shared = nn.ModuleDict({name: nn.Linear(getattr(self, name).width, shared, bias=False) for name in ('picture', 'text')})
        self.scale = nn.Parameter(torch.ones([]) * 2.6593)
        self.slow = copy.deepcopy(self.picture) if momentum else None
        if self.slow is not None:
            for p in self.slow.parameters():
                p.requires_grad_(False)
        self.momentum = momentum or 0.0

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.slow.parameters(), self.picture.parameters()):
            slow.data = slow.data * self.momentum + fast.data * (1 - self.momentum)

    def embed(self, pictures: Tensor, ids: Tensor) -> Tuple[Tensor, Tensor]:
        a = self.to_shared['picture'](self.picture(pictures))
        b = self.to_shared['text'](self.text(ids))
        return F.normalize(a, dim=-1), F.normalize(b, dim=-1)

    def forward(self, pictures: Tensor, ids: Tensor) -> Dict[str, Tensor]:
        a, b = self.embed(pictures, ids)
        logits = self.scale.exp() * a @ b.t()
        aims = torch.arange(logits.size(0))
        loss = (F.cross_entropy(logits, aims) + F.cross_entropy(logits.t(), aims)) / 2
        found = {'logits': logits, 'loss': loss}
        if self.slow is not None:
            found['slow'] = self.slow(pictures)
        return found
