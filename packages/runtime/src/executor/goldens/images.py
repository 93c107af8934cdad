import torch
import torch.nn.functional as F


def f(x, w, b, mean, var):
    y = F.conv2d(x, w, b, padding=1)
    y = F.batch_norm(y, mean, var, training=False)
    y = F.hardswish(y) + F.relu6(y) * 0.5
    y = torch.cat([y, F.avg_pool2d(y, 3, 1, 1)], 1)
    return F.pad(y, [1, 1, 1, 1], 'reflect').clamp(0.0, 1.0).mean([2, 3])


CALLS = [
    lambda n=n: (torch.ones(n, 3, 4, 4), torch.ones(3, 3, 3, 3), torch.ones(3), torch.ones(3), torch.ones(3)) for n in (1, 1, 2)
]
