# case: an attribute that has no type
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.things = []

    def forward(self, x):
        return self.things

# case: an attribute that is not there
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return self.nope(x)

# case: a class attribute
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    scale = 3

    def forward(self, x):
        return x * self.scale

# case: a missing argument
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n, m):
        super().__init__()

# case: an unexpected argument
# make: Net(1, width=2)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()

# case: what init raises
# make: Net(-1)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        if n < 0:
            raise ValueError(f'n must be positive, got {n}')

# case: an assertion
# make: Net(3)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        assert n % 2 == 0, 'n must be even'

# case: a layer with wrong numbers
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, groups=2)

# case: no super call
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return x

# case: variable arguments
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, *rest):
        return x

# case: a lambda in forward
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        f = lambda y: y + 1
        return f(x)

# case: try in a method that is called
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return self.helper(x)

    def helper(self, x):
        try:
            return x
        except ValueError:
            return x

# case: a condition in a comprehension
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return [i for i in range(3) if i > 1]

# case: a global variable
# make: Net()
import torch
from torch import nn

SCALE = 3


class Net(nn.Module):
    def forward(self, x):
        return x * SCALE

# case: an unsupported constant
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    __constants__ = ['table']

    def __init__(self):
        super().__init__()
        self.table = {'a': 1}

    def forward(self, x):
        return x

# case: a list of modules that is no ModuleList
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.ReLU(), nn.Tanh()]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

# case: an index that is no constant
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({'a': nn.ReLU()})

    def forward(self, x, key: str):
        return self.layers[key](x)

# case: a lambda as an attribute
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = lambda x: x

    def forward(self, x):
        return self.f(x)

# case: an inverted int
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: int):
        return ~x

# case: arguments by position only
# make: Net()
import torch
from torch import nn


def f(x, /, y):
    return x + y


class Net(nn.Module):
    def forward(self, x):
        return f(x, x)

# case: a part of a tuple deleted
# make: Net()
from typing import Tuple
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: Tuple[int, int]):
        del x[0]
        return x

# case: a wrong type of argument
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return self.helper(self.n)

    def helper(self, s: str) -> int:
        return len(s)

# case: a wrong return type
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x) -> int:
        return x

# case: an undefined name
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return undefined_name(x)

# case: an undefined name in init
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = undefined_name

# case: a module that is not there
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        import an_absent_module
        self.n = 1

# case: an object of another class
# make: Net()
import torch
from torch import nn


class Thing:
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.thing = Thing()

    def forward(self, x):
        return self.thing
