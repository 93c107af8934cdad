"""An encoder of speech from spectra of any length: two convolutions that halve it, and layers of attention with places as sines."""

import math
from typing import Final

import torch
from torch import Tensor, nn

from made import Made

BANDS = 80
LAYERS = 4
HIDDEN = 192
HEADS = 4


class Layer(nn.Module):
    heads: Final[int] = HEADS
    width: Final[int] = HIDDEN // HEADS

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(HIDDEN)
        self.given = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.norm2 = nn.LayerNorm(HIDDEN)
        self.inner = nn.Linear(HIDDEN, 4 * HIDDEN)
        self.outer = nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        given = self.given(self.norm1(x)).view(x.size(0), x.size(1), 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(given[0], given[1], given[2])
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.outer(nn.functional.gelu(self.inner(self.norm2(x))))


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, HIDDEN, 3, 2, 1)
        self.conv2 = nn.Conv1d(HIDDEN, HIDDEN, 3, 2, 1)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, 32)
        self.register_buffer("rates", torch.exp(-math.log(10000.0) * torch.arange(0, HIDDEN, 2).float() / HIDDEN))

    def forward(self, spectra: Tensor) -> Tensor:
        """Logarithms of the probabilities of each letter in each four frames."""
        x = nn.functional.gelu(self.conv2(nn.functional.gelu(self.conv1(spectra)))).transpose(1, 2)
        angles = torch.arange(x.size(1), device=x.device).unsqueeze(1).float() * self.rates
        x = x + torch.cat((angles.sin(), angles.cos()), -1)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).log_softmax(-1)


def make() -> Made:
    speech = Speech()
    return Made(speech, speech, (torch.zeros(1, BANDS, 40),), ["spectra"], ["letters"], {"spectra": {2: "frames"}, "letters": {1: "steps"}})
