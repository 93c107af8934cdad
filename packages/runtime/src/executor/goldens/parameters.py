import torch


def f(x, w, b):
    y = torch.mm(x, w) + b
    return torch.sigmoid(y) * torch.tanh(y), w.requires_grad


CALLS = [lambda: (torch.ones(2, 3), torch.ones(3, 4, requires_grad=True), torch.ones(4, requires_grad=True))] * 3
