import torch
from typing import Tuple


def scaled(x, by: float = 2.0):
    return x * by


def both(x, y) -> Tuple[torch.Tensor, torch.Tensor]:
    return scaled(x) + y, scaled(y, 0.5) - x


def f(x, y):
    later = torch.jit.fork(both, x, y)
    a, b = both(y, x)
    c, d = torch.jit.wait(later)
    constant = torch.tensor([1.0, 2.0])
    return (a + b) * constant, c.relu() + d.relu()


CALLS = [lambda: (torch.ones(2), torch.ones(2))] * 2
