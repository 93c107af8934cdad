import torch
import torch.nn.functional as F


def f(x, w, b):
    y = F.linear(x, w, b)
    y = F.gelu(y) + torch.addmm(b, x, w)
    a, c = y.chunk(2, 1)
    return F.softmax(a * torch.sigmoid(c), dim=-1)


CALLS = [lambda: (torch.ones(2, 4), torch.ones(4, 4), torch.ones(4))] * 2
