# case: statements of Python in init
# make: Net()
# call: forward()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, (b, *c), d = 1, (2, 3, 4), 5
        self.unpacked = [a, b, *c, d]
        values = [1, 2, 3, 4]
        values[1:3] = [9]
        del values[0]
        values.sort(reverse=True)
        self.values = values
        total = 0
        for i in range(10):
            if i == 2:
                continue
            if i == 5:
                break
            total += i
        else:
            total = -1
        self.total = total
        x = y = 3
        x += 1
        y *= x
        y -= 1
        x **= 2
        y //= 2
        x %= 7
        self.x, self.y = x, y
        table = {}
        table['k'] = [1]
        table['k'] += [2]
        table.setdefault('j', []).append(3)
        table.update(z=4)
        self.table = sorted(table)
        self.popped = table.pop('z')

    def forward(self):
        return self.unpacked, self.values, self.total, self.x, self.y, self.table, self.popped

# case: exceptions
# make: Net()
# call: forward()
import torch
from torch import nn


class Custom(ValueError):
    def __init__(self, code):
        super().__init__(f'code {code}')
        self.code = code


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        log = []
        for step in range(4):
            try:
                if step == 0:
                    raise Custom(7)
                elif step == 1:
                    [][3]
                elif step == 2:
                    1 / 0
                log.append('none')
            except Custom as e:
                log.append(str(e) + str(e.code))
            except (IndexError, KeyError):
                log.append('index')
            except Exception as e:
                log.append(type(e).__name__)
            else:
                log.append('else')
            finally:
                log.append('finally')
        try:
            try:
                raise RuntimeError('inner')
            except RuntimeError:
                raise
        except RuntimeError as e:
            log.append(str(e))
        self.log = log

    def forward(self):
        return self.log

# case: closures, nonlocal and global
# make: Net()
# call: forward()
import torch
from torch import nn

COUNT = 0


def counter():
    n = 0

    def step(by=1):
        nonlocal n
        n += by
        return n
    return step


def bump():
    global COUNT
    COUNT += 1
    return COUNT


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        step = counter()
        step()
        self.n = step(by=5)
        bump()
        self.count = bump()

        def fib(k):
            return k if k < 2 else fib(k - 1) + fib(k - 2)
        self.fib = fib(10)

    def forward(self):
        return self.n, self.count, self.fib

# case: special methods
# make: Net()
# call: forward()
import torch
from torch import nn


class Vector:
    def __init__(self, *items):
        self.items = list(items)

    def __add__(self, other):
        return Vector(*[a + b for a, b in zip(self.items, other.items)])

    def __mul__(self, k):
        return Vector(*[a * k for a in self.items])

    __rmul__ = __mul__

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, item):
        return item in self.items

    def __eq__(self, other):
        return self.items == other.items

    def __call__(self, k):
        return sum(self.items) + k

    def __repr__(self):
        return f'Vector({self.items})'

    def __enter__(self):
        self.items.append(100)
        return self

    def __exit__(self, *exc):
        self.items.pop()
        return False


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        v = 2 * (Vector(1, 2) + Vector(3, 4))
        self.found = [len(v), v[0], v(1), 12 in v, v == Vector(8, 12), sum(v)]
        self.text = str(v)
        with v as w:
            self.inside = len(w)
        self.after = len(v)

    def forward(self):
        return self.text, self.inside, self.after

# case: several bases and their order
# make: Net()
# call: forward()
import torch
from torch import nn


class A:
    def name(self):
        return 'A'


class B(A):
    def name(self):
        return 'B' + super().name()


class C(A):
    def name(self):
        return 'C' + super().name()


class D(B, C):
    kind = 'd'

    def name(self):
        return 'D' + super().name()

    @classmethod
    def make(cls, **kw):
        obj = cls()
        for k, v in kw.items():
            setattr(obj, k, v)
        return obj

    @staticmethod
    def twice(n):
        return n * 2

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value * 10


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        d = D.make(size=3)
        self.text = d.name() + d.kind + D.__name__
        self.size = d.size + D.twice(1)
        self.order = [c.__name__ for c in D.__mro__][:4]
        self.sub = issubclass(D, A)

    def forward(self):
        return self.text, self.size, self.order, self.sub

# case: properties with setters on modules
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self._scale = 2.0

    @property
    def scale(self) -> float:
        return self._scale

    @scale.setter
    def scale(self, value: float):
        self._scale = value + 1

    def forward(self, x):
        self.scale = 4.0
        return x * self.scale

# case: decorated functions
# make: Net()
# call: forward(numbers(2))
import functools
import torch
from torch import nn


def logged(prefix):
    def deco(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return prefix + fn(*args, **kwargs)
        return wrapper
    return deco


@logged('> ')
def describe(n, unit='m'):
    return f'{n}{unit}'


@torch.jit.script
def fused(x, y):
    return torch.sigmoid(x) * y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.text = describe(3, unit='km')

    def forward(self, x):
        return fused(x, x), self.text

# case: nested containers of modules
# make: Net()
# call: forward(numbers(2, 2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = nn.ModuleList([nn.ModuleList([nn.Tanh() if i == j else nn.Identity() for j in range(2)]) for i in range(2)])
        self.heads = nn.ModuleDict()
        for name in ('a', 'b'):
            self.heads[name] = nn.Sequential(nn.Identity(), nn.Sigmoid())
        self.pairs = nn.ModuleList()
        for i in range(2):
            self.pairs.append(nn.ModuleDict({'x': nn.ReLU(), 'y': nn.Identity()}))

    def forward(self, x):
        for row in self.grid:
            for cell in row:
                x = cell(x)
        outs = []
        for head in self.heads.values():
            outs.append(head(x))
        for pair in self.pairs:
            x = pair['x'](pair['y'](x))
        return torch.stack(outs).sum(0) + x, self.heads['a'](x)

# case: submodules reached by name
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x):
        w = self.layers[0].weight
        y = F.linear(x, self.fc.weight, self.fc.bias) + x @ w.t()
        n = 0
        for name, child in self.named_children():
            n += 1
        for m in self.layers.children():
            y = m(y)
        return y, n, self.fc.in_features, self.layers[0].out_features

# case: buffers changed in forward
# make: Net()
# call: forward(numbers(3))
# call: forward(numbers(3))
import torch
from torch import nn


class Net(nn.Module):
    steps: int

    def __init__(self, momentum=0.5):
        super().__init__()
        self.register_buffer('mean', torch.zeros(3))
        self.momentum = momentum
        self.steps = 0

    def forward(self, x):
        self.mean = self.mean * (1 - self.momentum) + x * self.momentum
        self.steps += 1
        return self.mean, self.steps

# case: a forward of an inherited class with another signature
# make: Net()
# call: forward(numbers(2), numbers(2), 3)
from typing import Optional
import torch
from torch import nn, Tensor


class Base(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.options = dict(kwargs)
        self.k = kwargs.get('k', 1)

    def combine(self, a: Tensor, b: Optional[Tensor] = None) -> Tensor:
        return a if b is None else a + b


class Net(Base):
    def __init__(self):
        super().__init__(k=4)

    def forward(self, a: Tensor, b: Optional[Tensor], n: int = 2) -> Tensor:
        return self.combine(a) * n + self.combine(a, b) * self.k
