"""A small network that is trained to tell digits: no graph of ONNX says how."""

import torch
from torch import Tensor, nn

from made import Made


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 2, 1)
        self.conv2 = nn.Conv2d(16, 32, 3, 2, 1)
        self.linear = nn.Linear(32 * 7 * 7, 64)
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.conv2(torch.relu(self.conv1(x)))).flatten(1)
        return self.head(torch.relu(self.linear(x)))


def make() -> Made:
    return Made(Classifier())
