import torch


def f(x, w):
    b = x.size(0)
    h = x.view(b, -1)
    s = h.shape
    y = torch.mm(h, w.t())
    if y.dim() == 2 and y.dtype == torch.float:
        y = y.reshape(b, 1, s[1])
    return y.type_as(x)


CALLS = [lambda: (torch.ones(2, 3, 1), torch.ones(3, 3))] * 2
