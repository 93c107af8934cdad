# make: LadderNet(channels=2, classes=2)
# make: ladder_in_groups(2, 3, steps=[4, 8], deep=True)
# call: forward(numbers(1, 2, 16, 16))
"""Labels every pixel: a ladder down and up, with a rung across at each size."""
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class Step(nn.Module):
    """Two convolutions; the second one sees twice as far where that is asked for."""

    def __init__(self, inner: int, outer: int, norm: Callable[[int], nn.Module], far: bool = False) -> None:
        super().__init__()
        reach = 2 if far else 1
        self.body = nn.Sequential(
            nn.Conv2d(inner, outer, 3, padding=1, bias=False),
            norm(outer),
            nn.ReLU(inplace=True),
            nn.Conv2d(outer, outer, 3, padding=reach, dilation=reach, bias=False),
            norm(outer),
        )
        self.across = nn.Identity() if inner == outer else nn.Conv2d(inner, outer, 1)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.across(x))


class Rung(nn.Module):
    def __init__(self, below: int, beside: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.open = nn.Conv2d(below, beside, kernel_size=1)
        self.step = Step(2 * beside, beside, norm)

    def forward(self, below: Tensor, beside: Tensor) -> Tensor:
        raised = F.interpolate(self.open(below), size=beside.shape[-2:], mode='bilinear', align_corners=False)
        return self.step(torch.cat([raised, beside], dim=1))


class LadderNet(nn.Module):
    def __init__(
        self,
        channels: int,
        classes: int,
        steps: Optional[List[int]] = None,
        norm_layer: Optional[Callable[..., nn.Module]] = None,
        deep: bool = False,
        **others: Any,
    ) -> None:
        super().__init__()
        if others:
            raise TypeError(f'unknown settings: {", ".join(others)}')
        norm = norm_layer or nn.BatchNorm2d
        widths = steps if steps is not None else [4, 6, 8]
        self.down = nn.ModuleList(
            [Step(inner, outer, norm, far=deep and at > 0) for at, (inner, outer) in enumerate(zip([channels] + widths, widths))]
        )
        self.rungs = nn.ModuleList(Rung(a, b, norm) for a, b in zip(widths[:0:-1], widths[-2::-1]))
        self.head_main = nn.Conv2d(widths[0], classes, 1)
        self.head_coarse = nn.Conv2d(widths[-1], classes, 1) if deep else None
        self._begin(gain=1.0)

    def _begin(self, *, gain: float) -> None:
        for name, module in self.named_modules():
            if isinstance(module, nn.Conv2d):
                nn.init.xavier_uniform_(module.weight, gain=gain / (2 if name.startswith('head') else 1))

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        seen: List[Tensor] = []
        for at, step in enumerate(self.down):
            x = step(x if at == 0 else F.avg_pool2d(x, 2))
            seen.append(x)
        found: Dict[str, Tensor] = {}
        if self.head_coarse is not None:
            found['coarse'] = self.head_coarse(x)
        for at, rung in enumerate(self.rungs):
            x = rung(x, seen[len(seen) - 2 - at])
        found['main'] = self.head_main(x)
        return found


def ladder_in_groups(channels: int, classes: int, groups: int = 2, **settings: Union[List[int], bool]) -> LadderNet:
    return LadderNet(channels, classes, norm_layer=partial(nn.GroupNorm, groups), **settings)
