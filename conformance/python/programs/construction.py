# case: loops and comprehensions
# make: Net([4, 3, 2])
# make: Net([5, 5], act=False)
# call: forward(numbers(2, 5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, sizes, act=True):
        super().__init__()
        self.first = nn.Linear(5, sizes[0])
        self.layers = nn.ModuleList([nn.Linear(i, o) for i, o in zip(sizes[:-1], sizes[1:])])
        for index, size in enumerate(sizes):
            setattr(self, f'norm{index}', nn.LayerNorm(size))
        self.names = [f'norm{index}' for index in range(len(sizes))]
        self.act = nn.ReLU() if act else nn.Identity()

    def forward(self, x):
        x = self.norm0(self.first(x))
        for layer in self.layers:
            x = self.act(layer(x))
        return x

# case: append, extend and insert
# make: Net(3)
# call: forward(numbers(1, 2))
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, depth: int):
        super(Net, self).__init__()
        self.blocks = nn.ModuleList()
        for i in range(depth):
            self.blocks.append(nn.Linear(2, 2, bias=i % 2 == 0))
        self.blocks.extend([nn.Tanh(), nn.Sigmoid()])
        self.blocks.insert(0, nn.Identity())
        self.blocks += [nn.Identity()]
        self.total = len(self.blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x, self.total, len(self.blocks)

# case: OrderedDict and star arguments
# make: Net()
# call: forward(numbers(2, 3))
from collections import OrderedDict
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(OrderedDict([('fc', nn.Linear(3, 4)), ('act', nn.ReLU())]))
        layers = [nn.Linear(4, 4), nn.GELU()]
        layers += [nn.Linear(4, 2)]
        self.two = nn.Sequential(*layers)
        self.three = nn.Sequential()
        self.three.add_module('last', nn.Linear(2, 2))

    def forward(self, x):
        return self.three(self.two(self.one(x)))

# case: helper functions and keyword arguments
# make: Net(width=4, mlp_ratio=2.5)
# call: forward(numbers(2, 4))
import torch
import torch.nn as nn


def make_divisible(v, divisor=8, min_value=None):
    min_value = min_value or divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


def mlp(dim, ratio, **kwargs):
    hidden = make_divisible(dim * ratio, **kwargs)
    return nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))


class Net(nn.Module):
    def __init__(self, width, *, mlp_ratio=4.0, **kwargs):
        super().__init__()
        self.hidden = make_divisible(width * mlp_ratio, divisor=4)
        self.mlp = mlp(width, mlp_ratio, divisor=4)

    def forward(self, x):
        return self.mlp(x) + self.hidden

# case: types of unannotated arguments
# make: Net(2, 2.5, 'sum', True, (1, 2), [1.5, 2.5])
# make: Net(3, 0.5, 'mean', False, (3, 4), [0.25])
# call: forward(numbers(2, 2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, count, factor, mode, flag, pair, factors):
        super().__init__()
        self.count = count
        self.factor = factor
        self.mode = mode
        self.flag = flag
        self.pair = pair
        self.factors = factors

    def forward(self, x):
        y = x * self.factor + self.count
        if self.flag:
            y = y - self.pair[0]
        for factor in self.factors:
            y = y * factor
        return y.sum() if self.mode == 'sum' else y.mean()

# case: inheritance, super and overridden methods
# make: Child(3)
# call: forward(numbers(2))
import torch
from torch import nn


class Base(nn.Module):
    scale = 2

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.setup()

    def setup(self):
        self.kind = 'base'
        self.amount = self.scale * self.n

    def helper(self, x):
        return x + self.amount

    def forward(self, x):
        return self.helper(x)


class Child(Base):
    scale = 5

    def setup(self):
        super().setup()
        self.kind = 'child ' + self.kind

    def helper(self, x):
        return x * self.amount

# case: mixins
# make: Net()
# call: forward(numbers(3))
import torch
from torch import nn


class ScaleMixin:
    def init_scale(self, s):
        self.s = s

    def scaled(self, x):
        return x * self.s


class ShiftMixin:
    def shifted(self, x):
        return x + 1


class Net(ScaleMixin, ShiftMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.init_scale(3.0)

    def forward(self, x):
        return self.shifted(self.scaled(x))

# case: static methods, class methods and properties
# make: Net(4)
# call: forward(numbers(3))
import torch
from torch import nn


class Net(nn.Module):
    default = 3

    def __init__(self, n):
        super().__init__()
        self.n = self.clip(n)
        self.m = self.from_default()

    @staticmethod
    def clip(n: int) -> int:
        return min(n, 2)

    @classmethod
    def from_default(cls):
        return cls.default + 1

    @property
    def both(self) -> int:
        return self.n + self.m

    def forward(self, x):
        return x * self.both + self.clip(7)

# case: constants and Final
# make: Net()
# call: forward(numbers(2))
from typing import Final, List, Tuple
import torch
from torch import nn


class Net(nn.Module):
    __constants__ = ['depth', 'names', 'shape']
    ratio: Final[float] = 0.5
    flags: Final[List[int]]

    def __init__(self):
        super().__init__()
        self.depth = 3
        self.names = ['a', 'b']
        self.shape = (1, 2)
        self.flags = [1, 0]

    def forward(self, x):
        out = x * self.ratio
        for i in range(self.depth):
            out = out + self.flags[0]
        if self.names[0] == 'a':
            out = out * self.shape[1]
        return out, len(self.names)

# case: annotations of attributes
# make: Net()
# call: forward('a')
# call: forward('b')
from typing import Dict, List, Optional
import torch
from torch import nn


class Net(nn.Module):
    table: Dict[str, int]
    seen: List[str]
    last: Optional[int]

    def __init__(self):
        super().__init__()
        self.table = {}
        self.seen = []
        self.last = None

    def forward(self, key: str):
        self.seen.append(key)
        self.table[key] = len(self.seen)
        previous = self.last
        self.last = self.table[key]
        return len(self.seen), previous

# case: buffers and parameters
# make: Net()
# call: forward(numbers(3))
import math
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('table', torch.arange(3).float() / 2, persistent=False)
        self.register_buffer('nothing', None)
        self.register_parameter('bias', None)
        self.weight = nn.Parameter(torch.full((3,), math.sqrt(2.0)))
        self.register_parameter('scale', nn.Parameter(torch.tensor([1.0, 2.0, 3.0]), ))

    def forward(self, x):
        if self.bias is not None:
            x = x + self.bias
        return x * self.weight + self.table * self.scale

# case: tied weights and shared submodules
# make: Net()
# call: forward(whole(2, 3, below=5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.shared = nn.Linear(4, 4)
        self.again = self.shared

    def forward(self, x):
        return self.head(self.again(self.shared(self.embedding(x))))

# case: positional encoding with tensor operations
# make: Positions(6, 8)
# call: forward(numbers(2, 4, 6))
import math
import torch
from torch import nn, Tensor


class Positions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:x.size(0)]

# case: relative position index
# make: Window((2, 3))
# call: forward()
import torch
from torch import nn


class Window(nn.Module):
    def __init__(self, window_size):
        super().__init__()
        coords_h = torch.arange(window_size[0])
        coords_w = torch.arange(window_size[1])
        coords = torch.stack(torch.meshgrid([coords_h, coords_w], indexing='ij'))
        flat = torch.flatten(coords, 1)
        relative = flat[:, :, None] - flat[:, None, :]
        relative = relative.permute(1, 2, 0).contiguous()
        relative[:, :, 0] += window_size[0] - 1
        relative[:, :, 1] += window_size[1] - 1
        relative[:, :, 0] *= 2 * window_size[1] - 1
        self.register_buffer('index', relative.sum(-1))
        self.window_area = window_size[0] * window_size[1]

    def forward(self):
        return self.index.view(-1), self.window_area

# case: drop path rates
# make: Net((2, 3), 0.2)
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depths, rate):
        super().__init__()
        rates = [x.item() for x in torch.linspace(0, rate, sum(depths))]
        self.stages = [r for r in rates]
        cur = 0
        self.sums = []
        for depth in depths:
            self.sums.append(sum(rates[cur:cur + depth]))
            cur += depth

    def forward(self, x):
        return x * self.sums[0] + self.sums[1], len(self.stages)

# case: apply and isinstance
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.apply(self._init_weights)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.constant_(m.weight, 0.5)
        for name, p in self.named_parameters():
            if name.endswith('2.bias'):
                nn.init.ones_(p)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.body(x)

# case: partial and norm layers as arguments
# make: Net()
# call: forward(numbers(2, 4))
from functools import partial
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, norm_layer=None, act_layer=nn.GELU):
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-3)
        self.norm = norm_layer(4)
        self.act = act_layer()

    def forward(self, x):
        return self.act(self.norm(x))

# case: a dataclass as configuration
# make: make(n_embd=4)
# call: forward(numbers(2, 4))
from dataclasses import dataclass, field
from typing import List
import torch
from torch import nn


@dataclass
class Config:
    n_embd: int = 8
    bias: bool = True
    widths: List[int] = field(default_factory=lambda: [3, 2])


class Net(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        assert config.n_embd is not None
        self.config = config
        self.layers = nn.ModuleDict(dict(
            first=nn.Linear(config.n_embd, config.widths[0], bias=config.bias),
            second=nn.Linear(config.widths[0], config.widths[1]),
        ))

    def forward(self, x):
        return self.layers['second'](self.layers['first'](x))


def make(**kwargs):
    return Net(Config(**kwargs))

# case: try, with and while in init
# make: Net(5)
# call: forward(numbers(2))
import torch
from torch import nn

try:
    import an_absent_module
    HAS = True
except ImportError:
    HAS = False


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.has = HAS
        value = n
        steps = 0
        while True:
            if value == 1:
                break
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        else:
            steps = -1
        try:
            {}['missing']
        except KeyError as e:
            steps += 100
        finally:
            steps += 1000
        with torch.no_grad():
            steps += 1
        self.steps = steps

    def forward(self, x):
        return x * self.steps, self.has

# case: sets, walrus, lambda and conditions of comprehensions
# make: Net()
# call: forward()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        names = {'a', 'b', 'a'}
        self.count = len(names)
        self.even = [i for i in range(10) if i % 2 == 0 if i > 2]
        pairs = {k: v for k, v in {'x': 1, 'y': 2}.items() if v > 1}
        self.key = list(pairs.keys())[0]
        square = lambda v, by=2: v ** by
        self.squares = [square(i) for i in range(3)] + [square(2, by=3)]
        if (n := len(self.even)) > 2:
            self.n = n
        self.flat = [x for row in [[1, 2], [3]] for x in row]
        self.text = f'{self.count:03d}|{3.14159:.2f}|{"a"!r}|{1000000:,}'

    def forward(self):
        return self.count, self.even, self.key, self.squares, self.n, self.flat, self.text

# case: dynamic attributes and getattr
# make: Net(['relu', 'tanh'])
# call: forward(numbers(3))
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, names):
        super().__init__()
        classes = {'relu': nn.ReLU, 'tanh': nn.Tanh}
        for name in names:
            self.add_module(name, classes[name]())
        self.n = getattr(self, 'missing', 7)
        if not hasattr(self, 'other'):
            self.other = 1.5

    def forward(self, x):
        return self.tanh(self.relu(x)) * self.other + self.n

# case: a function as an attribute
# make: Net()
# call: forward(numbers(3))
import torch
from torch import nn
import torch.nn.functional as F


def double(x):
    return x * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = F.relu
        self.double = double
        self.norm = torch.sigmoid

    def forward(self, x):
        return self.norm(self.double(self.act(x)))

# case: kwargs with defaults from a dictionary
# make: small(width=3)
# make: small()
# call: forward(numbers(3))
import torch
from torch import nn

default_cfgs = {'small': dict(width=2, bias=0.5)}


class Net(nn.Module):
    def __init__(self, width=1, bias=0.0):
        super().__init__()
        self.width = width
        self.bias = bias

    def forward(self, x):
        return x * self.width + self.bias


def _create(variant, **kwargs):
    cfg = {**default_cfgs[variant], **kwargs}
    return Net(**cfg)


def small(pretrained=False, **kwargs):
    """A small one."""
    model = _create('small', **kwargs)
    return model

# case: registry decorator
# make: build('tiny', n=4)
# call: forward(numbers(2))
import torch
from torch import nn

_models = {}


def register_model(fn):
    _models[fn.__name__] = fn
    return fn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x + self.n


@register_model
def tiny(**kwargs):
    return Net(**kwargs)


def build(name, **kwargs):
    if name not in _models:
        raise RuntimeError(f'Unknown model ({name})')
    return _models[name](**kwargs)

# case: deep copies
# make: Net()
# call: forward(numbers(2, 3))
import copy
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.Linear(3, 3)
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

# case: hooks of names and generators
# make: Net()
# call: forward()
import torch
from torch import nn


def numbers_up_to(n):
    for i in range(n):
        yield i * i


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.total = sum(numbers_up_to(5))
        self.biggest = max(numbers_up_to(4))
        self.first = next(i for i in [3, 4])
        self.sorted = sorted([3, 1, 2], key=lambda v: -v)
        self.zipped = [a + b for a, b in zip([1, 2], [10, 20])]
        self.joined = ','.join(str(i) for i in range(3))

    def forward(self):
        return self.total, self.biggest, self.first, self.sorted, self.zipped, self.joined

# case: frozen parameters and state of training
# make: Net()
# call: forward(numbers(2, 2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        for p in self.fc.parameters():
            p.requires_grad = False
        nn.init.eye_(self.fc.weight)
        nn.init.constant_(self.fc.bias, 0.25)
        self.eval()

    def forward(self, x):
        return self.fc(x), self.training
