import torch


def f(x, y, z, w):
    a = torch.tanh(x * y) + z
    b, c = a.chunk(2, 1)
    d = torch.sigmoid(b) * c.exp()
    e = torch.relu(d + 1)
    p, q = torch.mm(x, w).chunk(2, 1)
    r, s = torch.sigmoid(p), torch.exp(q)
    joined = torch.cat([e, torch.neg(c)], 1)
    return joined, a.size(), b.size(), c.size(), d.size(), torch.relu(r), torch.tanh(s), r.size(), s.size()


CALLS = [
    lambda: (torch.ones(2, 4), torch.ones(4), torch.ones(2, 1), torch.ones(4, 5)),
    lambda: (torch.ones(2, 4), torch.ones(4), torch.ones(2, 1), torch.ones(4, 5)),
    lambda: (torch.ones(3, 4), torch.ones(4), torch.ones(1), torch.ones(4, 2)),
]
