import torch


def f(x, y):
    z = torch.tanh(x + y) * x
    if z.dim() == 1:
        z = z.unsqueeze(0)
    return (z * z.size(0)).exp() + x


CALLS = [
    lambda: (torch.ones(4), torch.ones(4)),
    lambda: (torch.ones(4), torch.ones(4)),
    lambda: (torch.ones(2, 4), torch.ones(4)),
    lambda: (torch.ones(2, 4), torch.ones(4)),
    lambda: (torch.ones(3, 2, 4), torch.ones(2, 4)),
    lambda: (torch.ones(3, 2, 4), torch.ones(2, 4)),
    lambda: (torch.ones(1, 2, 4), torch.ones(4)),
]
