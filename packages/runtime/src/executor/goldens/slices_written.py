import torch


def f(x, n: int):
    out = torch.zeros(n, 4)
    for i in range(n):
        out[i] = x * i
    out[0, 1:3] += 1
    out[:, 0].copy_(out[:, 3])
    view = out.view(-1)
    view.clamp_(0, 5)
    x.add_(1)
    return out.t() + x[0], view


CALLS = [lambda: (torch.ones(4), 3)] * 2 + [lambda: (torch.ones(4), 2)]
