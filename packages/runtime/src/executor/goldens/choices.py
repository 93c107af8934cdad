import torch
from typing import Optional


def f(x, kind: int, mask: Optional[torch.Tensor]):
    if kind == 0:
        return x.relu() + 1
    elif kind == 1:
        x = x * 2
        if mask is None:
            return x.sigmoid()
    assert x.dim() < 3
    if mask is not None and mask.numel() > 1:
        x = torch.where(mask, x, x.exp())
    return x.tanh() * kind


CALLS = [
    lambda: (torch.ones(3), 0, None),
    lambda: (torch.ones(3), 0, None),
    lambda: (torch.ones(3), 1, None),
    lambda: (torch.ones(3), 2, torch.ones(3) > 0),
]
