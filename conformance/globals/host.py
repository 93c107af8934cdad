"""Functions that programs call and Python runs. `page/host-functions-fixture.ts` has the same ones in JavaScript, with these signatures."""

from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor


@torch.jit.ignore
def decode(s: str) -> List[int]:
    return [ord(c) for c in s]


@torch.jit.ignore
def double(x):
    return x * 2


@torch.jit.ignore
def mix(x, y):
    return x + 3 * y


@torch.jit.ignore
def total(values: List[float], scale: float = 1.0) -> float:
    return sum(values) * scale


@torch.jit.ignore
def divide(a: int, b: int) -> Tuple[int, int]:
    return a // b, a % b


@torch.jit.ignore
def lookup(table: Dict[str, int], key: str) -> Optional[int]:
    return table.get(key)


@torch.jit.ignore
def note(x: Tensor) -> None:
    pass


@torch.jit.ignore
def fail(x):
    raise ValueError('no such thing')


@torch.jit.ignore
def parts(x: Tensor, n: int) -> List[Tensor]:
    return [x * i for i in range(n)]


@torch.jit.ignore
def is_long(s: str) -> bool:
    return len(s) > 3


@torch.jit.ignore
def lie(x: Tensor) -> int:
    return 'a'
