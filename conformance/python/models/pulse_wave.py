# make: pulse_wave()
# make: pulse_wave(kernels=[3], spectral=True)
# call: forward(numbers(2, 4, 5))
"""Makes sound of spectra: transposed convolutions with several kernels in each step; norms of weights are taken off."""
from types import SimpleNamespace
from typing import List

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Conv1d, ConvTranspose1d
from torch.nn.utils import remove_weight_norm, weight_norm

SLOPE = 0.1


def init_weights(m, mean=0.0, std=0.05):
    if m.__class__.__name__.find('Conv') != -1 and hasattr(m, 'weight'):
        m.weight.data.normal_(mean, std)


def get_padding(kernel: int, dilation: int = 1) -> int:
    return int((kernel * dilation - dilation) / 2)


class Block(nn.Module):
    def __init__(self, channels: int, kernel: int = 3, dilations=(1, 3)):
        super().__init__()
        self.convs1 = nn.ModuleList([weight_norm(Conv1d(channels, channels, kernel, 1, dilation=d, padding=get_padding(kernel, d))) for d in dilations])
        self.convs2 = nn.ModuleList([weight_norm(Conv1d(channels, channels, kernel, 1, padding=get_padding(kernel))) for _ in dilations])

    def forward(self, x):
        for c1, c2 in zip(self.convs1, self.convs2):
            y = c1(F.leaky_relu(x, 0.1))
            y = c2(F.leaky_relu(y, 0.1))
            x = y + x
        return x

    def remove_weight_norm(self):
        for layer in list(self.convs1) + list(self.convs2):
            remove_weight_norm(layer)


class PulseWave(nn.Module):
    @staticmethod
    def defaults(**changes):
        return SimpleNamespace(**{**dict(bins=4, width=8, rates=[2, 2], kernels=[3, 5], spectral=False), **changes})

    def __init__(self, h):
        super().__init__()
        self.num_kernels = len(h.kernels)
        self.conv_pre = weight_norm(Conv1d(h.bins, h.width, 7, 1, padding=3))
        self.ups = nn.ModuleList()
        self.blocks = nn.ModuleList()
        for i, u in enumerate(h.rates):
            ch = h.width // (2 ** (i + 1))
            self.ups.append(weight_norm(ConvTranspose1d(h.width // (2 ** i), ch, 2 * u, u, padding=u // 2)))
            steps = nn.ModuleList()
            for k in h.kernels:
                steps.append(Block(ch, k))
            self.blocks.append(steps)
        norm = nn.utils.parametrizations.spectral_norm if h.spectral else nn.utils.parametrizations.weight_norm
        self.conv_post = norm(Conv1d(ch, 1, 7, 1, padding=3))
        self.ups.apply(init_weights)
        self.remove_weight_norm()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv_pre(x)
        for up, steps in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            total = torch.zeros_like(x)
            for block in steps:
                total = total + block(x)
            x = total / self.num_kernels
        return torch.tanh(self.conv_post(F.leaky_relu(x)))

    def remove_weight_norm(self):
        for layer in [self.conv_pre, *self.ups]:
            remove_weight_norm(layer)
        for steps in self.blocks:
            for block in steps:
                block.remove_weight_norm()
        nn.utils.parametrize.remove_parametrizations(self.conv_post, 'weight')


def pulse_wave(**changes):
    return PulseWave(PulseWave.defaults(**changes))
