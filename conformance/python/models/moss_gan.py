# make: Generator(noise=4)
# make: Generator(noise=4, classes=3, self_look=True)
# call: forward(numbers(2, 4))
"""Draws pictures from noise: an upsampling network whose norms are told by the class."""
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn, Tensor


def weights_init(m: nn.Module) -> None:
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.2)
    elif classname.find('BatchNorm') != -1:
        if m.affine:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)


class ToldNorm(nn.Module):
    def __init__(self, width: int, told: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(width, affine=False)
        self.gain = nn.Linear(told, width)
        self.shift = nn.Linear(told, width)
        nn.init.zeros_(self.gain.weight)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        gain = 1 + self.gain(told)[:, :, None, None]
        return self.norm(x) * gain + self.shift(told)[:, :, None, None]


class SelfLook(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.query, self.key = nn.Conv2d(width, 2, 1), nn.Conv2d(width, 2, 1)
        self.value = nn.Conv2d(width, width, 1)
        self.gamma = nn.Parameter(torch.full((1,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.size()
        q = self.query(x).view(b, -1, h * w)
        k = self.key(x).view(b, -1, h * w)
        v = self.value(x).view(b, c, h * w)
        look = torch.softmax(torch.bmm(q.transpose(1, 2), k), -1)
        return x + self.gamma * torch.bmm(v, look.transpose(1, 2)).view(b, c, h, w)


class Up(nn.Module):
    def __init__(self, inner: int, outer: int, told: int):
        super().__init__()
        self.norm1, self.norm2 = ToldNorm(inner, told), ToldNorm(outer, told)
        self.conv1 = nn.Conv2d(inner, outer, 3, padding=1)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1)
        self.short = nn.Conv2d(inner, outer, 1, bias=False)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        y = F.interpolate(F.leaky_relu(self.norm1(x, told), 0.1), scale_factor=2.0, mode='nearest')
        y = self.conv2(F.leaky_relu(self.norm2(self.conv1(y), told), 0.1))
        return y + self.short(F.interpolate(x, scale_factor=2.0, mode='nearest'))


class Generator(nn.Module):
    def __init__(self, noise: int, width: int = 8, classes: int = 0, steps: int = 2, self_look: bool = False):
        super().__init__()
        self.noise, self.start = noise, width
        self.classes = nn.Embedding(classes, noise) if classes else None
        self.first = nn.Linear(noise, width * 2 * 2)
        widths = [max(2, width >> i) for i in range(steps + 1)]
        self.ups = nn.ModuleList(Up(a, b, noise) for a, b in zip(widths, widths[1:]))
        self.look = SelfLook(widths[-1]) if self_look else nn.Identity()
        self.last = nn.Sequential(nn.BatchNorm2d(widths[-1]), nn.ReLU(True), nn.Conv2d(widths[-1], 3, 3, padding=1), nn.Tanh())
        self.apply(weights_init)

    def forward(self, z: Tensor, label: Optional[Tensor] = None) -> Tensor:
        told = z
        if self.classes is not None:
            if label is None:
                label = torch.zeros(z.size(0), dtype=torch.long, device=z.device)
            told = told + self.classes(label)
        x = self.first(z).view(-1, self.start, 2, 2)
        for up in self.ups:
            x = up(x, told)
        return self.last(self.look(x))
