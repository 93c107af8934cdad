import torch


def f(x, y):
    z = torch.tanh(x * y)
    return z + torch.sigmoid(z) * x


CALLS = [lambda: (torch.ones(4), torch.ones(4))] * 2 + [lambda: (torch.ones(2, 4), torch.ones(4))] * 2
GRADIENTS = True
