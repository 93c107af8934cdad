import torch


def f(x, y):
    z = x * y + x
    return torch.tanh(z) - y.sigmoid()


CALLS = [lambda: (torch.ones(2, 3), torch.ones(2, 3))] * 2
