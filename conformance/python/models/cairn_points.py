# make: Cairn(classes=3)
# make: Cairn(classes=2, turn=False, levels=((4, 2, 0.9), (2, 2, 1.5)))
# call: forward(numbers(2, 3, 8))
"""Sorts clouds of points: far points are picked, near ones gathered, and features made of them."""
from typing import List, Tuple

import torch
import torch.nn as nn
from torch import Tensor


def far_points(xyz: Tensor, count: int) -> Tensor:
    """Indices of points that are far from each other, (B, count)."""
    b, n, _ = xyz.shape
    picked = torch.zeros(b, count, dtype=torch.long)
    distance = torch.full((b, n), 1e10)
    last = torch.zeros(b, dtype=torch.long)
    rows = torch.arange(b)
    for i in range(count):
        picked[:, i] = last
        centre = xyz[rows, last].unsqueeze(1)
        distance = torch.minimum(distance, ((xyz - centre) ** 2).sum(-1))
        last = distance.max(-1)[1]
    return picked


def gather(points: Tensor, index: Tensor) -> Tensor:
    rows = torch.arange(points.size(0)).view([-1] + [1] * (index.dim() - 1)).expand_as(index)
    return points[rows, index]


class Turn(nn.Module):
    def __init__(self, size: int = 3):
        super().__init__()
        self.size = size
        self.point = nn.Sequential(nn.Conv1d(size, 6, 1), nn.BatchNorm1d(6), nn.ReLU())
        self.whole = nn.Linear(6, size * size)
        nn.init.normal_(self.whole.weight, std=0.05)
        self.whole.bias.data.copy_(torch.eye(size).flatten())

    def forward(self, x: Tensor) -> Tensor:
        y = self.point(x).max(2)[0]
        return torch.bmm(self.whole(y).view(-1, self.size, self.size), x)


class Level(nn.Module):
    def __init__(self, count: int, near: int, radius: float, inner: int, widths: List[int]):
        super().__init__()
        self.count, self.near, self.radius = count, near, radius
        convs, last = [], inner + 3
        for width in widths:
            convs += [nn.Conv2d(last, width, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            last = width
        self.mlp = nn.Sequential(*convs)
        self.out_channels = last

    def forward(self, xyz: Tensor, features: Tensor) -> Tuple[Tensor, Tensor]:
        centres = gather(xyz, far_points(xyz, self.count))
        distance = torch.cdist(centres, xyz)
        value, index = distance.topk(self.near, dim=-1, largest=False, sorted=True)
        index = torch.where(value > self.radius, index[..., :1], index)
        local = gather(xyz, index) - centres.unsqueeze(2)
        grouped = torch.cat([local, gather(features, index)], dim=-1).permute(0, 3, 2, 1)
        return centres, self.mlp(grouped).max(2)[0].transpose(1, 2)


class Cairn(nn.Module):
    def __init__(self, classes: int, turn: bool = True, levels: Tuple[Tuple[int, int, float], ...] = ((4, 3, 1.0),)):
        super().__init__()
        self.turn = Turn() if turn else nn.Identity()
        self.levels = nn.ModuleList()
        width = 3
        for i, (count, near, radius) in enumerate(levels):
            self.levels.append(Level(count, near, radius, width, [4, 4 * (i + 1)]))
            width = self.levels[-1].out_channels
        self.head = nn.Sequential(nn.Linear(width, 4), nn.LayerNorm(4), nn.ReLU(), nn.Dropout(0.4), nn.Linear(4, classes))

    def forward(self, x: Tensor) -> Tensor:
        xyz = self.turn(x).transpose(1, 2)
        features = xyz
        for level in self.levels:
            xyz, features = level(xyz, features)
        return self.head(features.max(1)[0]).log_softmax(-1)
