"""A residual network for images of any size: three stages of two blocks, batch norm, a mean over all places."""

import torch
from torch import Tensor, nn

from made import Made

WIDTHS = (32, 64, 128)


class Block(nn.Module):
    def __init__(self, given: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(given, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.short = nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(given, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + self.short(x))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTHS[0], 5, 2, 2)
        blocks = []
        given = WIDTHS[0]
        for width in WIDTHS:
            blocks += [Block(given, width, 1 if given == width else 2), Block(width, width, 1)]
            given = width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(given, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(torch.relu(self.stem(x)))
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def make() -> Made:
    images = Images()
    return Made(images, images, (torch.zeros(1, 3, 48, 64),), ["x"], ["scores"], {"x": {2: "height", 3: "width"}})
