import torch
from typing import Dict, List


def f(words: List[str], x):
    found: Dict[str, int] = {}
    for word in words:
        key = word.lower()
        if key not in found:
            found[key] = 0
        found[key] += 1
    line = ''
    for key in found.keys():
        line += '{}={} '.format(key, found[key])
    if len(line) > 12:
        raise ValueError('too many words: ' + line)
    return line.strip(), x * len(found) + x


CALLS = [lambda: (['A', 'a', 'b'], torch.ones(2))] * 2
