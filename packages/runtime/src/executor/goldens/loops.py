import torch


def f(x, n: int):
    total = torch.zeros_like(x)
    for i in range(n):
        total = total + x * i
    return total


CALLS = [lambda: (torch.ones(2, 2), 3)] * 2
