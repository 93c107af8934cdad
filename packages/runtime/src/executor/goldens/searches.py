import torch


def f(x, limit: int):
    count = 0
    found = -1
    while count < limit:
        count += 1
        if count % 2 == 1:
            continue
        x = x + count
        if bool(x.sum() > 20):
            found = count
            break
    if found < 0:
        x = x.neg()
    return x.abs(), found


CALLS = [lambda: (torch.ones(2, 3), 9), lambda: (torch.ones(2, 3), 9), lambda: (torch.zeros(2, 3), 1)]
