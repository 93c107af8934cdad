import torch


def f(x, y):
    z = x + y
    z.mul_(2)
    w = z[0]
    w += 1
    l = [z, w]
    l.append(x)
    return torch.stack(l[:1]), l


CALLS = [lambda: (torch.ones(2, 2), torch.ones(2, 2))] * 2
