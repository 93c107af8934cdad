import torch


def f(x, y, n: int):
    a = torch.relu(x * y)
    b = torch.relu(x * y)
    unused = torch.exp(a)
    x.mul_(2)
    c = torch.relu(x * y)
    d = x.size(0) * n + x.size(0) * n
    e = (a + b).expand(2, 3).expand_as(c)
    return e * c, d + 3 * 4


CALLS = [lambda: (torch.ones(2, 3), torch.ones(3), 2)] * 2
