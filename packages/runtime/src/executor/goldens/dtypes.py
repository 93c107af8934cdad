import torch


def f(x, y):
    z = x * y + 1
    if x.dtype == torch.float32:
        z = z.to(torch.float64)
    return (z > 2).to(x.dtype) * z - torch.sigmoid(y).type_as(x)


CALLS = [
    lambda: (torch.ones(3), torch.ones(3)),
    lambda: (torch.ones(3), torch.ones(3)),
    lambda: (torch.ones(3, dtype=torch.float64), torch.ones(3)),
    lambda: (torch.ones(3, dtype=torch.float64), torch.ones(3)),
    lambda: (torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool)),
    lambda: (torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool)),
]
