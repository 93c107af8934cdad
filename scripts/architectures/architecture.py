"""What one architecture is to the scripts beside this file."""
from dataclasses import dataclass
from typing import Callable

import torch
from torch import Tensor, nn

# "frozen" is frozen after scripting, "frozen_trace" after tracing.
all_forms = ("traced", "scripted", "frozen")


@dataclass(frozen=True)
class Architecture:
    """A module with random weights, made anew by `build`, and inputs for it."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], "tuple[object, ...]"]
    forms: "tuple[str, ...]" = all_forms
    # A last layer whose outputs are sorted or cut off by a threshold takes the rounding of the whole network as it is.
    settle: bool = True


def settle_statistics(module: nn.Module, inputs: "tuple[object, ...]") -> None:
    """
    Gives normalisations the statistics of random data, so that activations of untrained networks neither vanish nor overflow.
    Modules that can't run for training on inputs alone stay as they were made.
    """
    module.train()
    for _ in range(3):
        try:
            with torch.no_grad():
                module(*inputs)
        except Exception:
            break
    module.eval()


def image(size: int, channels: int = 3, batch: int = 1) -> Tensor:
    return torch.rand(batch, channels, size, size) * 2 - 1
