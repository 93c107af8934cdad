# make: LensDepth()
# make: LensDepth(encoder='small', bins=3, metric=True)
# call: forward(numbers(1, 3, 16, 16))
"""Guesses how far each pixel is: an encoder by name, fusion from coarse to fine, and bins of distance."""
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn, Tensor


class _Registry(dict):
    def register(self, fn=None, *, name=None):
        if fn is None:
            return lambda f: self.register(f, name=name)
        self[name or fn.__name__] = fn
        return fn


ENCODERS = _Registry()


class SeparableConv2d(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int = 1) -> None:
        super().__init__()
        self.deep = nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False)
        self.flat = nn.Conv2d(inner, outer, 1, bias=False)
        self.norm = nn.BatchNorm2d(outer)

    def forward(self, x: Tensor) -> Tensor:
        return F.hardswish(self.norm(self.flat(self.deep(x))))


class Encoder(nn.Module):
    def __init__(self, widths: List[int]) -> None:
        super().__init__()
        self.widths = widths
        for i, (inner, outer) in enumerate(zip([3] + widths, widths)):
            self.add_module(f'stage{i + 1}', SeparableConv2d(inner, outer, stride=2))

    def forward(self, x: Tensor) -> List[Tensor]:
        features: List[Tensor] = []
        for stage in self.children():
            x = stage(x)
            features.append(x)
        return features


@ENCODERS.register
def base() -> Encoder:
    return Encoder([4, 6, 8])


@ENCODERS.register(name='small')
def _small() -> Encoder:
    return Encoder([3, 4])


class Fuse(nn.Module):
    def __init__(self, width: int, beside: int) -> None:
        super().__init__()
        self.side = nn.Conv2d(beside, width, 1)
        self.refine = nn.Sequential(*(SeparableConv2d(width, width) for _ in range(2)))

    def forward(self, x: Optional[Tensor], side: Tensor) -> Tensor:
        y = self.side(side)
        if x is not None:
            y = y + F.interpolate(x, size=y.shape[2:], mode='bilinear', align_corners=True)
        return self.refine(y) + y


class LensDepth(nn.Module):
    near: torch.jit.Final[float]
    far: torch.jit.Final[float]

    def __init__(self, encoder: str = 'base', width: int = 4, bins: int = 0, metric: bool = False, near: float = 0.1, far: float = 10.0) -> None:
        super().__init__()
        self.near, self.far = near, far
        self.encoder = ENCODERS[encoder]()
        self.fuses = nn.ModuleList([Fuse(width, w) for w in self.encoder.widths[::-1]])
        self.head = nn.Conv2d(width, max(bins, 1), 1)
        self.bins = nn.Parameter(torch.linspace(0, 1, bins)) if bins > 0 else None
        self.metric = metric

    def _distance(self, x: Tensor) -> Tensor:
        if self.bins is not None:
            centres = self.bins.softmax(0).cumsum(0) * (self.far - self.near) + self.near
            return (x.softmax(1) * centres.view(1, -1, 1, 1)).sum(1, keepdim=True)
        return torch.sigmoid(x)

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        size: Tuple[int, int] = (x.shape[2], x.shape[3])
        features = self.encoder(x)
        y: Optional[Tensor] = None
        for i, fuse in enumerate(self.fuses):
            y = fuse(y, features[-1 - i])
        assert y is not None
        depth = self._distance(self.head(y))
        out = {'depth': F.interpolate(depth, size, mode='bicubic', align_corners=False)}
        if self.metric:
            out['inverse'] = 1.0 / out['depth'].clamp(min=1e-3)
        return out
