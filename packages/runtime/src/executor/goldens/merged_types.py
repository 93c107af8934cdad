import torch
from typing import List


def f(xs: List[torch.Tensor]):
    out = xs[0]
    while out.numel() < 4:
        out = torch.cat([out, xs[1]], 0) * 2
    return out


CALLS = [lambda: ([torch.ones(1), torch.ones(1)],)] * 2
