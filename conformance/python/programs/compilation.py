# case: bodies that are never compiled
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x + 1

    @torch.jit.unused
    def plot(self, *args, **kwargs):
        import matplotlib
        return [lambda: 3 for _ in range(3) if args]

    @torch.jit.ignore
    def log(self, **kwargs):
        with open('x') as f:
            yield f

    @torch.no_grad()
    def generate(self, idx, n):
        try:
            return {idx}
        except Exception:
            return None

    def configure(self, weight_decay, *, lr=1e-3):
        groups = [{'params': [p for p in self.parameters() if p.dim() >= 2], 'lr': lr}]
        return groups

    def uncalled(self, a, *rest):
        return not_defined_anywhere(a)


if __name__ == '__main__':
    net = Net()
    print(net(torch.ones(2)))

# case: calls of ignored functions
# make: Net()
# call: forward(numbers(2), False)
# call: forward(numbers(2), True)
import torch
from torch import nn


class Net(nn.Module):
    @torch.jit.unused
    def rare(self, x):
        return [x for x in x if x]

    def forward(self, x, which: bool):
        if which:
            x = self.rare(x)
        return x * 2

# case: methods compiled where they are called
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return self.one(x) + self.two(x, 3)

    def one(self, x):
        return self.two(x, 1)

    def two(self, x, n: int):
        for i in range(n):
            x = x + i
        return x

# case: exported methods
# make: Net()
# call: forward(numbers(2))
# call: other(numbers(2), 2)
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x

    @torch.jit.export
    def other(self, x, n: int = 3):
        return x * n

# case: type comments
# make: Net()
# call: forward(numbers(2), [1, 2])
from typing import List, Optional, Tuple
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, sizes):
        # type: (torch.Tensor, List[int]) -> Tuple[torch.Tensor, int]
        total = 0
        for size in sizes:
            total += size
        return x, total

# case: named tuples
# make: Net()
# call: forward(numbers(2))
from collections import namedtuple
from typing import NamedTuple
import torch
from torch import nn

Point = namedtuple('Point', ['x', 'y'])
Size = NamedTuple('Size', [('width', int), ('height', int)])


class Output(NamedTuple):
    logits: torch.Tensor
    count: int


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = Size(3, 4)

    def forward(self, x):
        p = Point(x, x + 1)
        out = Output(p.x + p.y, self.size.width)
        return out.logits, out.count, self.size.height

# case: named tuples in functions
# make: Net()
# call: forward(numbers(2))
from collections import namedtuple
from typing import NamedTuple
import torch
from torch import nn

Point = namedtuple('Point', ['x', 'y'])
Size = NamedTuple('Size', [('width', int), ('height', int)])


class Output(NamedTuple):
    logits: torch.Tensor
    count: int = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        size = Size(3, height=4)
        self.area = size.width * size.height

    def forward(self, x):
        p = Point(x, x + 1)
        s = Size(1, 2)
        out = Output(p.x + p.y, s.width)
        return out.logits, out.count, self.area

# case: enums
# make: Net('add')
# call: forward(numbers(2))
from enum import Enum
import torch
from torch import nn


class Mode(Enum):
    ADD = 'add'
    MUL = 'mul'


class Net(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = Mode(mode)
        self.known = [m.value for m in Mode]

    def forward(self, x):
        if self.mode == Mode.ADD:
            return x + 1, self.known
        return x * 2, self.known

# case: overloaded methods
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Scale(nn.Module):
    @torch.jit._overload_method
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass

    @torch.jit._overload_method
    def forward(self, x: int) -> int:
        pass

    def forward(self, x):
        return x * 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x), self.scale(4)

# case: typing.overload and TYPE_CHECKING
# make: Net()
# call: forward(numbers(2))
from __future__ import annotations
from typing import TYPE_CHECKING, overload, Optional
import torch
from torch import nn

if TYPE_CHECKING:
    from somewhere import Something


class Net(nn.Module):
    @overload
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...

    @overload
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor: ...

    def forward(self, x: torch.Tensor, n: int = 1) -> torch.Tensor:
        return x * (n + 1)

# case: containers of modules
# make: Net()
# call: forward(numbers(2, 2), 'b')
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.named = nn.ModuleDict({'a': nn.Identity(), 'b': nn.Tanh()})
        self.named['c'] = nn.ReLU()
        self.listed = nn.ModuleList([nn.Tanh(), nn.Identity(), nn.ReLU()])

    def forward(self, x, key: str):
        known = key in self.named
        names: list[str] = []
        for name, module in self.named.items():
            names.append(name)
            x = module(x)
        for name in self.named:
            names.append(name)
        for i, module in enumerate(self.listed):
            x = module(x) + i
        for module in self.listed[1:]:
            x = module(x)
        for module, other in zip(self.listed, self.listed):
            x = module(x)
        x = self.listed[-1](self.listed[0](x))
        return x, names, known, len(self.named), len(self.listed)

# case: lists and dicts of parameters
# make: Net(3)
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.full((2,), float(i))) for i in range(n)])
        self.named = nn.ParameterDict({'left': nn.Parameter(torch.ones(2)), 'right': nn.Parameter(torch.zeros(2))})

    def forward(self, x):
        for w in self.weights:
            x = x + w
        x = x * self.named['left'] - self.named['right']
        return x, len(self.weights)

# case: parameters by list and by name
# make: Net(3)
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.full((2,), float(i))) for i in range(n)])
        self.named = nn.ParameterDict({'left': nn.Parameter(torch.ones(2)), 'right': nn.Parameter(torch.zeros(2))})

    def forward(self, x):
        for w in self.weights:
            x = x + w
        x = x * self.named['left'] - self.named['right']
        return x

# case: a subclass of Sequential
# make: Net()
# call: forward(numbers(1, 2, 4, 4))
import torch
from torch import nn


class ConvBNReLU(nn.Sequential):
    def __init__(self, i, o, kernel_size=3, stride=1, groups=1):
        padding = (kernel_size - 1) // 2
        super().__init__(
            nn.Conv2d(i, o, kernel_size, stride, padding, groups=groups, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU6(inplace=True),
        )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = ConvBNReLU(2, 4, stride=2)
        self.depth = len(self.features)

    def forward(self, x):
        return self.features(x), self.depth

# case: optional submodules
# make: Net(True)
# make: Net(False)
# call: forward(numbers(2, 2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.down = nn.Linear(2, 2) if use else None
        self.act = nn.ReLU()

    def forward(self, x):
        identity = x
        if self.down is not None:
            identity = self.down(x)
        return self.act(x) + identity

# case: classes of TorchScript within modules
# make: Net()
# call: forward(numbers(2))
# call: forward(numbers(2))
import torch
from torch import nn


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, n: int) -> int:
        self.count += n
        return self.count


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = Counter(5)

    def forward(self, x):
        return x * self.counter.add(2)

# case: module interface
# make: Net(True)
# make: Net(False)
# call: forward(numbers(2))
import torch
from torch import nn


class Add(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Mul(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Net(nn.Module):
    def __init__(self, which):
        super().__init__()
        self.inner = Add() if which else Mul()

    def forward(self, x):
        return self.inner(x)

# case: functions with closures over modules' names
# make: Net()
# call: forward(numbers(2, 3))
import torch as th
import torch.nn.functional as Fn
import typing as T
from torch import nn as layers


def normalize(x: th.Tensor, p: float = 2.0, dim: int = 1) -> th.Tensor:
    return Fn.normalize(x, p=p, dim=dim)


class Net(layers.Module):
    def forward(self, x: th.Tensor, scale: T.Optional[float] = None) -> T.Tuple[th.Tensor, T.List[int]]:
        if scale is None:
            scale = 2.0
        return normalize(x) * scale, list(x.shape)

# case: submodules with different types share nothing
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, n, bias):
        super().__init__()
        self.n = n
        self.fc = nn.Linear(3, 3, bias=bias)

    def forward(self, x):
        return self.fc(x) * self.n


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(2, True), Block(2.5, False), Block(3, True)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

# case: hasattr, isinstance and training
# make: Net()
# call: forward(numbers(2))
from typing import Optional
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias: Optional[torch.Tensor] = torch.ones(2)
        self.rate = 0.5

    def forward(self, x):
        if hasattr(self, 'rate'):
            x = x * self.rate
        if hasattr(self, 'absent'):
            x = x * self.absent
        if self.bias is not None and isinstance(x, torch.Tensor):
            x = x + 1
        if self.training:
            x = x + 10
        if torch.jit.is_scripting():
            x = x + 100
        return x

# case: forward hooks
# make: make()
# call: forward(numbers(2))
from typing import Tuple
import torch
from torch import nn


def after(self, inputs: Tuple[torch.Tensor], output: torch.Tensor):
    return output * 2


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def make():
    net = Net()
    net.register_forward_hook(after)
    return net

# case: an exception of its own
# make: Net()
# call: forward(numbers(3))
import torch
from torch import nn


class TooMany(KeyError):
    def __init__(self, count):
        super(KeyError, self).__init__(f'{count} are too many')


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.size(0) > 5:
            raise TooMany('six')
        return x * 2
