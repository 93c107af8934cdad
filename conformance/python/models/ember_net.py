# make: ember_small(widths=[4, 8], depths=[1, 2], scale=None)
# make: ember_small(classes=3)
# call: forward(numbers(1, 3, 16, 16))
"""Classifies pictures with blocks of depthwise convolutions and a scale for each channel."""
from dataclasses import dataclass, field
from typing import Callable, List, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor


@dataclass
class EmberConfig:
    widths: Tuple[int, ...] = (4, 6)
    depths: Tuple[int, ...] = (1, 1)
    classes: int = 2
    drop: float = 0.1
    scale: Optional[float] = 1e-2
    act: Callable[..., nn.Module] = field(default=nn.GELU)

    def __post_init__(self) -> None:
        if len(self.widths) != len(self.depths):
            raise ValueError('as many widths as depths')


class ChannelNorm(nn.Module):
    """A norm over the channels of each pixel."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        spread = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(spread + self.eps)
        return x * self.weight[:, None, None] + self.bias[:, None, None]


class Skip(nn.Module):
    """Leaves out whole examples while training."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        keep = 1.0 - self.p
        mask = torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), device=x.device) < keep
        return x * mask / keep

    def extra_repr(self) -> str:
        return f'p={self.p}'


class EmberBlock(nn.Module):
    def __init__(self, width: int, config: EmberConfig, p: float) -> None:
        super().__init__()
        self.mix = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = ChannelNorm(width)
        self.wide = nn.Conv2d(width, 4 * width, 1)
        self.act = config.act()
        self.narrow = nn.Conv2d(4 * width, width, 1)
        self.gamma = nn.Parameter(config.scale * torch.ones(width, 1, 1)) if config.scale else None
        self.skip = Skip(p) if p > 0 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.narrow(self.act(self.wide(self.norm(self.mix(x)))))
        if self.gamma is not None:
            y = y * self.gamma
        return x + self.skip(y)


class EmberNet(nn.Module):
    def __init__(self, config: Optional[EmberConfig] = None) -> None:
        super().__init__()
        config = config or EmberConfig()
        rates = iter(torch.linspace(0, config.drop, sum(config.depths)).tolist())
        stages: List[nn.Module] = []
        before = 3
        for at, (width, depth) in enumerate(zip(config.widths, config.depths)):
            stem = nn.Conv2d(before, width, 2, stride=2)
            blocks = [EmberBlock(width, config, next(rates)) for _ in range(depth)]
            stages.append(nn.Sequential(stem, *blocks, *([ChannelNorm(width)] if at == 0 else [])))
            before = width
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(before, config.classes)
        self.apply(self._begin)

    @staticmethod
    def _begin(module: nn.Module) -> None:
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.trunc_normal_(module.weight, std=0.2)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stages(x)
        return self.head(x.flatten(2).mean(-1))


def ember_small(**settings) -> EmberNet:
    return EmberNet(EmberConfig(**{'widths': (3, 4, 5), 'depths': (1, 1, 1), **settings}))
