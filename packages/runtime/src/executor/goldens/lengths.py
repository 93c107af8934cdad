import torch


def f(x, w, b):
    h = torch.relu(x * w + b)
    s = torch.sigmoid(h).sum(1, keepdim=True)
    return (h - s) * (h / s + 1), h.size()


CALLS = [
    lambda n=n: (torch.ones(n, 4), torch.ones(4), torch.ones(n, 1)) for n in (2, 2, 3, 3, 5, 5, 7, 1, 1, 8)
]
