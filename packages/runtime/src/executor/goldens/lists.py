import torch
from typing import List


def f(xs: List[torch.Tensor], n: int):
    ys: List[torch.Tensor] = []
    for x in xs:
        ys.append(x * 2)
    ys += [xs[0], xs[-1]]
    ys[1] = ys.pop() + 1
    sizes = [y.size(0) for y in ys]
    sizes.extend([n, n + 1])
    sizes.sort()
    return torch.cat(ys, 0).sigmoid(), sizes[0], len(ys)


CALLS = [lambda: ([torch.ones(2), torch.ones(3)], 5)] * 2 + [lambda: ([torch.ones(4), torch.ones(1), torch.ones(2)], 1)]
