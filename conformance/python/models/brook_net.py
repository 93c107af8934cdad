# make: brook_net('tiny')
# make: brook_net('wide', classes=2, norm_layer=None)
# call: forward(numbers(1, 2, 24))
"""Finds events in signals: a pyramid of dilated convolutions, built from a table of strings."""
import re
from collections import OrderedDict
from functools import partial
from typing import Any, Dict, List, Optional, Type, Union

import torch
from torch import nn

LAYOUTS: Dict[str, List[str]] = {
    'tiny': ['c4_k3', 'd4_k3_r1', 'p2', 'd6_k3_r2_se'],
    'wide': ['c6_k5', 'd6_k3_r1_se', 'p2', 'd8_k3_r2', 'd8_k3_r4'],
}


def parse(text: str) -> Dict[str, int]:
    kind, *rest = text.split('_')
    options = {'kind': kind[0], 'width': int(kind[1:]), 'se': 0}
    for part in rest:
        if part == 'se':
            options['se'] = 1
        else:
            options[part[0]] = int(part[1:])
    return options


class ConvUnit(nn.Sequential):
    def __init__(self, inner: int, outer: int, kernel: int = 3, reach: int = 1, groups: int = 1,
                 norm_layer: Optional[Type[nn.Module]] = nn.BatchNorm1d, act: Optional[Type[nn.Module]] = nn.ReLU) -> None:
        layers: List[nn.Module] = [
            nn.Conv1d(inner, outer, kernel, padding=(kernel - 1) // 2 * reach, dilation=reach, groups=groups, bias=norm_layer is None)
        ]
        if norm_layer is not None:
            layers.append(norm_layer(outer))
        if act is not None:
            layers.append(act())
        super().__init__(*layers)
        self.out_channels = outer


class Squeeze(nn.Module):
    def __init__(self, width: int, ratio: int = 2) -> None:
        super().__init__()
        hidden = max(1, width // ratio)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.fc1 = nn.Conv1d(width, hidden, 1)
        self.fc2 = nn.Conv1d(hidden, width, 1)
        self.act, self.gate = nn.ReLU(), nn.Hardsigmoid()

    def _gate(self, x: torch.Tensor) -> torch.Tensor:
        return self.gate(self.fc2(self.act(self.fc1(self.pool(x)))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._gate(x) * x


class Dilated(nn.Module):
    def __init__(self, inner: int, outer: int, kernel: int, reach: int, se: bool, norm_layer: Any) -> None:
        super().__init__()
        unit = partial(ConvUnit, norm_layer=norm_layer)
        parts: 'OrderedDict[str, nn.Module]' = OrderedDict()
        parts['depth'] = unit(inner, inner, kernel, reach, groups=inner)
        if se:
            parts['se'] = Squeeze(inner)
        parts['point'] = unit(inner, outer, 1, act=None)
        self.body = nn.Sequential(parts)
        self.is_residual = inner == outer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        if self.is_residual:
            y += x
        return y


class BrookNet(nn.Module):
    def __init__(self, layout: List[str], channels: int = 2, classes: int = 3, norm_layer: Any = nn.BatchNorm1d) -> None:
        super().__init__()
        width = channels
        layers: List[nn.Module] = []
        for options in map(parse, layout):
            kind = options['kind']
            if kind == 'p':
                layers.append(nn.MaxPool1d(options['width']))
                continue
            if kind == 'c':
                layers.append(ConvUnit(width, options['width'], options['k'], norm_layer=norm_layer))
            elif kind == 'd':
                layers.append(Dilated(width, options['width'], options['k'], options['r'], bool(options['se']), norm_layer))
            else:
                raise ValueError(f'unknown kind {kind!r}')
            width = options['width']
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Conv1d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[-1]
        x = self.classifier(self.features(x))
        return nn.functional.interpolate(x, size=length, mode='linear', align_corners=False)


def brook_net(layout: Union[str, List[str]] = 'tiny', **settings: Any) -> BrookNet:
    found = LAYOUTS[layout] if isinstance(layout, str) else layout
    return BrookNet(found, **settings)
