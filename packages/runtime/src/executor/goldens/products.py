import torch


def f(w, a, b, c, d, e, g, h, i):
    tree = (torch.mm(a, e) + torch.mm(b, g)) + (torch.mm(c, h) + torch.mm(d, i))
    rows = [torch.mm(x, w) for x in [a, b, c, d]]
    return tree, torch.mm(a, w) + torch.mm(b, w) + torch.mm(c, w) + torch.mm(d, w), torch.mm(w, e), rows


CALLS = [lambda: tuple(torch.ones(4, 4) for _ in range(9))] * 2
