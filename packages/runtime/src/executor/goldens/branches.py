import torch
from typing import Optional


def f(x, bias: Optional[torch.Tensor], scale: float):
    if bias is not None:
        x = x + bias
    if bool(x.sum() > 0):
        y = x.relu()
    else:
        y = x.exp() * scale
    return y, x.dim()


CALLS = [lambda: (torch.ones(4), torch.ones(4), 2.0)] * 2
