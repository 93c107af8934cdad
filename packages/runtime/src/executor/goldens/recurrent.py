import torch
from typing import Tuple


def cell(x, state: Tuple[torch.Tensor, torch.Tensor], w_ih, w_hh, b):
    h, c = state
    gates = torch.mm(x, w_ih.t()) + torch.mm(h, w_hh.t()) + b
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def f(x, h, c, w_ih, w_hh, b):
    h, c = cell(x, (h, c), w_ih, w_hh, b)
    return torch.cat([h, c], 1), (h, c)


CALLS = [
    lambda n=n: (torch.ones(n, 3), torch.ones(n, 4), torch.ones(n, 4), torch.ones(16, 3), torch.ones(16, 4), torch.ones(16))
    for n in (2, 2, 3)
]
