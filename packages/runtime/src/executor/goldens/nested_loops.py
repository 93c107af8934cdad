import torch


def f(x, w, n: int):
    for i in range(2):
        y = torch.zeros_like(x)
        for j in range(n):
            y = y + torch.mm(x, w) * (i * j)
            if i == j:
                y = y.relu()
        x = x + y / (i + 1)
    return x


CALLS = [lambda: (torch.ones(2, 2), torch.ones(2, 2), 2)] * 2 + [lambda: (torch.ones(3, 2), torch.ones(2, 2), 4)]
