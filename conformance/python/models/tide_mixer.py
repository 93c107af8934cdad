# make: tide_mixer('tiny', outputs=3)
# make: tide_mixer('wide', outputs=2, gate=False, act='tanh')
# call: forward(numbers(2, 12, 4))
"""Forecasts of several gauges from a window of readings: mixes along time and along gauges in turns."""
from dataclasses import dataclass, replace
from typing import Callable, Dict, Optional

import torch
from torch import Tensor, nn

ACTIVATIONS: Dict[str, Callable[[], nn.Module]] = {'gelu': nn.GELU, 'tanh': nn.Tanh, 'silu': nn.SiLU}


@dataclass
class Settings:
    window: int = 12
    gauges: int = 4
    depth: int = 2
    widening: float = 1.5
    act: str = 'gelu'
    gate: bool = True


PRESETS = {
    'tiny': Settings(),
    'wide': Settings(depth=1, widening=3),
}


class Mixing(nn.Module):
    def __init__(self, size: int, hidden: int, act: Callable[[], nn.Module], *, gated: bool = False):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.widen = nn.Linear(size, hidden * (2 if gated else 1))
        self.act = act()
        self.narrow = nn.Linear(hidden, size, bias=not gated)
        self.gated = gated

    def forward(self, x: Tensor) -> Tensor:
        y = self.widen(self.norm(x))
        if self.gated:
            y, opening = y.chunk(2, dim=-1)
            y = y * torch.sigmoid(opening)
        return x + self.narrow(self.act(y))


class TideMixer(nn.Module):
    def __init__(self, settings: Settings, outputs: int):
        super().__init__()
        act = ACTIVATIONS[settings.act]
        sizes = [('time', settings.window), ('gauges', settings.gauges)]
        self.steps = nn.ModuleList()
        for _ in range(settings.depth):
            self.steps.append(
                nn.ModuleDict(
                    {name: Mixing(size, int(size * settings.widening), act, gated=settings.gate) for name, size in sizes}
                )
            )
        self.register_buffer('fading', torch.linspace(0.5, 1.0, settings.window)[:, None], persistent=False)
        self.head = nn.Linear(settings.window, outputs)
        self.skip: Optional[nn.Module] = None if settings.depth > 1 else nn.Linear(settings.window, outputs)
        self.apply(self._settle)

    @staticmethod
    def _settle(module: nn.Module) -> None:
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = x * self.fading
        y = x
        for step in self.steps:
            y = step['time'](y.transpose(1, 2)).transpose(1, 2)
            y = step['gauges'](y)
        out = self.head(y.transpose(1, 2))
        if self.skip is not None:
            out = out + self.skip(x.transpose(1, 2))
        return out


def tide_mixer(preset: str, outputs: int, **changes) -> TideMixer:
    if preset not in PRESETS:
        raise KeyError(f'no preset {preset!r}; there are {sorted(PRESETS)}')
    return TideMixer(replace(PRESETS[preset], **changes), outputs)
