# make: weir10()
# make: weir_bottle(width_per_group=2, groups=2, replace=(False, True))
# call: forward(numbers(1, 3, 16, 16))
"""Residual networks of two kinds of blocks, made by functions."""
from typing import Any, Callable, List, Optional, Tuple, Type, Union

import torch
import torch.nn as nn
from torch import Tensor

__all__ = ['Weir', 'weir10', 'weir_bottle']


def conv3x3(inner: int, outer: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inner, outer, kernel_size=3, stride=stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


class Plain(nn.Module):
    expansion: int = 1

    def __init__(self, inner: int, planes: int, stride: int = 1, down: Optional[nn.Module] = None, groups: int = 1,
                 base: int = 4, dilation: int = 1, norm: Callable[..., nn.Module] = nn.BatchNorm2d) -> None:
        super().__init__()
        if groups != 1 or base != 4:
            raise ValueError('plain blocks have one group')
        self.conv1, self.bn1 = conv3x3(inner, planes, stride), norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv3x3(planes, planes), norm(planes)
        self.down = down

    def forward(self, x: Tensor) -> Tensor:
        kept = x
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.down is not None:
            kept = self.down(x)
        y += kept
        return self.relu(y)


class Bottle(nn.Module):
    expansion: int = 2

    def __init__(self, inner: int, planes: int, stride: int = 1, down: Optional[nn.Module] = None, groups: int = 1,
                 base: int = 4, dilation: int = 1, norm: Callable[..., nn.Module] = nn.BatchNorm2d) -> None:
        super().__init__()
        width = int(planes * (base / 4.0)) * groups
        self.narrow = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), norm(width), nn.ReLU(True))
        self.conv = conv3x3(width, width, stride, groups, dilation)
        self.wide = nn.Sequential(norm(width), nn.ReLU(True), nn.Conv2d(width, planes * self.expansion, 1, bias=False), norm(planes * self.expansion))
        self.down = down

    def forward(self, x: Tensor) -> Tensor:
        y = self.wide(self.conv(self.narrow(x)))
        return torch.relu(y + (x if self.down is None else self.down(x)))


class Weir(nn.Module):
    def __init__(self, block: Type[Union[Plain, Bottle]], layers: List[int], classes: int = 4, zero_last: bool = False,
                 groups: int = 1, width_per_group: int = 4, replace: Optional[Tuple[bool, ...]] = None) -> None:
        super().__init__()
        self.inner, self.dilation = 4, 1
        self.groups, self.base = groups, width_per_group
        replace = (False,) * len(layers) if replace is None else replace
        if len(replace) != len(layers):
            raise ValueError(f'replace should have {len(layers)} items, got {replace}')
        self.stem = nn.Sequential(nn.Conv2d(3, self.inner, 7, 2, 3, bias=False), nn.BatchNorm2d(self.inner), nn.ReLU(inplace=True))
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._layer(block, 4, layers[0])
        self.layer2 = self._layer(block, 6, layers[1], stride=2, dilate=replace[1])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(6 * block.expansion, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
        if zero_last:
            for m in self.modules():
                if isinstance(m, Plain):
                    nn.init.constant_(m.bn2.weight, 0)

    def _layer(self, block: Type[Union[Plain, Bottle]], planes: int, count: int, stride: int = 1, dilate: bool = False) -> nn.Sequential:
        before = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        down = None
        if stride != 1 or self.inner != planes * block.expansion:
            down = nn.Sequential(nn.Conv2d(self.inner, planes * block.expansion, 1, stride, bias=False), nn.BatchNorm2d(planes * block.expansion))
        blocks = [block(self.inner, planes, stride, down, self.groups, self.base, before)]
        self.inner = planes * block.expansion
        blocks += [block(self.inner, planes, groups=self.groups, base=self.base, dilation=self.dilation) for _ in range(1, count)]
        return nn.Sequential(*blocks)

    def _forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.stem(x))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward(x)


def _weir(block: Type[Union[Plain, Bottle]], layers: List[int], **kwargs: Any) -> Weir:
    return Weir(block, layers, **kwargs)


def weir10(**kwargs: Any) -> Weir:
    return _weir(Plain, [1, 2], zero_last=True, **kwargs)


def weir_bottle(**kwargs: Any) -> Weir:
    return _weir(Bottle, [2, 1], **kwargs)
