import torch
from typing import Dict


def f(state: Dict[str, torch.Tensor], x):
    if 'seen' in state:
        x = x + state['seen'] * 0.5
    state['seen'] = x.relu()
    counts: Dict[int, float] = {0: 1.0, 1: 2.0}
    counts[2] = counts[0] + counts[1]
    total = 0.0
    for key, value in counts.items():
        total += key * value
    return x * total, state


CALLS = [lambda: ({}, torch.ones(2)), lambda: ({'seen': torch.ones(2)}, torch.ones(2)), lambda: ({}, torch.ones(2))]
