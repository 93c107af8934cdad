# case: a named tuple within a function
# make: make()
# call: forward(numbers(2))
from typing import NamedTuple
import torch
from torch import nn


def make():
    class Pair(NamedTuple):
        a: torch.Tensor
        b: int

    class Net(nn.Module):
        def forward(self, x):
            p = Pair(x, 3)
            return p.a * p.b

    return Net()

# case: an enum within a function
# make: make()
# call: forward(numbers(2))
import enum
import torch
from torch import nn


def make():
    class Mode(enum.Enum):
        UP = 1
        DOWN = 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mode = Mode.DOWN

        def forward(self, x):
            if self.mode == Mode.DOWN:
                return x - 1
            return x + 1

    return Net()

# case: an enum as constant and argument
# make: Net()
# call: forward(numbers(2))
import enum
import torch
from torch import nn


class Mode(enum.Enum):
    SUM = 'sum'
    MEAN = 'mean'


class Net(nn.Module):
    def __init__(self, mode: Mode = Mode.MEAN):
        super().__init__()
        self.mode = mode
        self.names = [each.name for each in Mode]
        self.by_value = Mode('sum').name
        self.by_name = Mode['MEAN'].value

    def reduce(self, x, mode: Mode):
        if mode == Mode.SUM:
            return x.sum()
        return x.mean()

    def forward(self, x):
        return self.reduce(x, self.mode), self.reduce(x, Mode.SUM), self.names, self.by_value, self.by_name

# case: closures in a function that makes a class
# make: make(3)
# call: forward(numbers(2))
import torch
from torch import nn


def helper(x, n: int):
    return x + n


def make(n):
    scale = float(n)

    class Net(nn.Module):
        def forward(self, x):
            return helper(x, 2) * 2.0

    return Net()

# case: a closed over number
# make: make(3)
import torch
from torch import nn


def make(n):
    class Net(nn.Module):
        def forward(self, x):
            return x * n

    return Net()

# case: a closed over function
# make: make()
# call: forward(numbers(2))
import torch
from torch import nn


def make():
    def double(x):
        return x * 2

    class Net(nn.Module):
        def forward(self, x):
            return double(x) + 1

    return Net()

# case: metaclass and abstract methods
# make: Net()
# call: forward(numbers(2))
from abc import ABC, ABCMeta, abstractmethod
import torch
from torch import nn


class Base(nn.Module, ABC):
    @abstractmethod
    def scale(self) -> float:
        ...

    def forward(self, x):
        return x * self.scale()


class Net(Base):
    def scale(self) -> float:
        return 2.5

# case: an abstract class cannot be made
# make: Base()
from abc import ABC, abstractmethod
import torch
from torch import nn


class Base(nn.Module, ABC):
    @abstractmethod
    def scale(self) -> float:
        ...

    def forward(self, x):
        return x * self.scale()

# case: generic base classes
# make: Net()
# call: forward(numbers(2))
from typing import Generic, TypeVar
import torch
from torch import nn

T = TypeVar('T')


class Box(Generic[T]):
    def __init__(self, value: T):
        self.value = value


class Net(nn.Module, Generic[T]):
    def __init__(self):
        super().__init__()
        self.n = Box(3).value

    def forward(self, x):
        return x * self.n

# case: class bodies with loops and comprehensions
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    widths = [2 ** i for i in range(4)]
    total = sum(widths)
    for width in (1, 2):
        last = width

    def __init__(self):
        super().__init__()
        self.n = self.total + Net.last
        self.widths = list(type(self).widths)

    def forward(self, x):
        return x * self.n, self.widths

# case: __new__ and singletons
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Config:
    made = 0

    def __new__(cls, *args):
        cls.made += 1
        return super().__new__(cls)

    def __init__(self, n):
        self.n = n


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, b = Config(2), Config(3)
        self.n = a.n + b.n + Config.made

    def forward(self, x):
        return x + self.n

# case: __getattr__ of a wrapper
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x):
        return self.inner(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = Wrapper(nn.Linear(3, 4))
        self.n = self.w.out_features

    def forward(self, x):
        return self.w(x) * self.n

# case: __call__ overridden in init code
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Builder:
    def __init__(self, **defaults):
        self.defaults = defaults

    def __call__(self, **given):
        return {**self.defaults, **given}

    def __len__(self):
        return len(self.defaults)

    def __contains__(self, key):
        return key in self.defaults

    def __iter__(self):
        return iter(sorted(self.defaults))

    def __eq__(self, other):
        return self.defaults == other.defaults

    def __hash__(self):
        return 7

    def __repr__(self):
        return f'Builder({self.defaults})'

    def __bool__(self):
        return bool(self.defaults)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        b = Builder(a=1, b=2)
        self.total = sum(b(b=5, c=7).values())
        self.text = f'{b} {len(b)} {"a" in b} {list(b)} {b == Builder(a=1, b=2)} {b != Builder()} {bool(Builder())}'
        self.hashed = 3

    def forward(self, x):
        return x + self.total, self.text, self.hashed

# case: a context manager of one's own
# make: Net()
# call: forward(numbers(2))
import contextlib
import torch
from torch import nn


class Counting:
    depth = 0

    def __enter__(self):
        Counting.depth += 1
        return self

    def __exit__(self, kind, value, trace):
        Counting.depth -= 1
        return kind is KeyError


@contextlib.contextmanager
def scaled(n):
    seen.append(n)
    try:
        yield n * 2
    finally:
        seen.append(-n)


seen = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with Counting() as c:
            self.inner = c.depth
            {}['missing']
        self.outer = Counting.depth
        with scaled(3) as n:
            self.n = n
        self.seen = list(seen)

    def forward(self, x):
        return self.inner, self.outer, self.n, self.seen

# case: generators are lazy
# make: Net()
# call: forward(numbers(2))
import itertools
import torch
from torch import nn


def count(start):
    while True:
        yield start
        start += 1


def walk(tree):
    for item in tree:
        if isinstance(item, list):
            yield from walk(item)
        else:
            yield item


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        numbers = count(3)
        self.a = [next(numbers) for _ in range(4)]
        self.b = list(itertools.islice(count(0), 3))
        self.c = list(walk([1, [2, [3, 4]], 5]))
        self.d = next((n for n in count(10) if n % 7 == 0), None)
        self.e = list(itertools.takewhile(lambda v: v < 4, count(1)))
        self.f = [a * b for a, b in zip(count(1), [5, 6])]

    def forward(self, x):
        return self.a, self.b, self.c, self.d, self.e, self.f

# case: a counter of layers
# make: Net()
# call: forward(numbers(2, 4))
import itertools
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        ids = itertools.count(1)
        for width in (4, 6, 2):
            number = next(ids)
            setattr(self, f'fc{number}', nn.Linear(4 if number == 1 else last, width))
            last = width
        self.count = number

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(x)))

# case: properties of a config object
# make: Net(depth=2)
# call: forward(numbers(2, 4))
import dataclasses
from dataclasses import dataclass, field
from typing import List, Optional
import torch
from torch import nn


@dataclass
class Config:
    width: int = 4
    depth: int = 3
    ratio: float = 2.0
    names: List[str] = field(default_factory=list)
    out: Optional[int] = None

    def __post_init__(self):
        self.out = self.out or self.width
        if not self.names:
            self.names = [f'block{i}' for i in range(self.depth)]

    @property
    def hidden(self) -> int:
        return int(self.width * self.ratio)

    @classmethod
    def from_dict(cls, values):
        known = {f.name for f in dataclasses.fields(cls)}
        return cls(**{k: v for k, v in values.items() if k in known})


class Net(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        cfg = Config.from_dict(kwargs)
        cfg = dataclasses.replace(cfg, ratio=1.5, names=[])
        self.layers = nn.ModuleDict({name: nn.Linear(cfg.width, cfg.width) for name in cfg.names})
        self.hidden = cfg.hidden
        self.as_dict = str(sorted(dataclasses.asdict(cfg)))
        self.text = repr(Config(1, 2))
        self.same = Config(1) == Config(1)

    def forward(self, x):
        for name, layer in self.layers.items():
            x = layer(x)
        return x * self.hidden, self.as_dict, self.text, self.same

# case: a frozen dataclass
# make: Net()
from dataclasses import dataclass
import torch
from torch import nn


@dataclass(frozen=True)
class Config:
    width: int = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        cfg = Config()
        cfg.width = 5

# case: a dataclass with an argument missing
# make: Net()
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Config:
    width: int
    depth: int = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = Config()

# case: OrderedDict methods
# make: Net()
# call: forward(numbers(2, 3))
from collections import OrderedDict, defaultdict, deque, Counter
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = OrderedDict()
        layers['b'] = nn.Linear(3, 3)
        layers['a'] = nn.ReLU()
        layers.move_to_end('b')
        layers.update(c=nn.Tanh())
        self.body = nn.Sequential(layers)
        groups = defaultdict(list)
        for name in ('x1', 'y1', 'x2'):
            groups[name[0]].append(name)
        self.groups = ','.join(f'{k}{len(v)}' for k, v in sorted(groups.items()))
        queue = deque([1, 2, 3])
        queue.append(4)
        self.queue = list(queue)
        counts = Counter('abca')
        self.counts = counts['a']
        self.most = 'a'

    def forward(self, x):
        return self.body(x), self.groups, self.queue, self.counts, self.most

# case: star arguments of every kind
# make: Net(1, 2, 3, key=4, other=5)
# call: forward(numbers(2))
import torch
from torch import nn


def gather(first, *rest, key, default=10, **others):
    return first + sum(rest) + key * 100 + default * 1000 + sum(others.values()) * 10000


class Net(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.a = gather(*args, **kwargs)
        first, *middle, last = args
        self.b = [first, last] + middle
        self.c = gather(*[1, 2], *(3,), **{'key': 1}, **{'z': 2})
        (x, y), z = (1, 2), 3
        self.d = x + y + z

    def forward(self, x):
        return self.a, self.b, self.c, self.d

# case: missing keyword
# make: Net()
import torch
from torch import nn


def gather(first, *, key):
    return first


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = gather(1)

# case: two values of one argument
# make: Net()
import torch
from torch import nn


def gather(first, key):
    return first


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = gather(1, first=2, key=3)

# case: default values are made once
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


def collect(value, into=[]):
    into.append(value)
    return into


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        collect(1)
        self.values = list(collect(2))

    def forward(self, x):
        return self.values

# case: recursion and memoised functions
# make: Net()
# call: forward(numbers(2))
import functools
import torch
from torch import nn

calls = 0


@functools.lru_cache(maxsize=None)
def fib(n):
    global calls
    calls += 1
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def countdown(n):
    return [] if n == 0 else [n] + countdown(n - 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = fib(20)
        self.calls = calls
        self.b = countdown(5)

    def forward(self, x):
        return self.a, self.b, self.calls

# case: classes that derive from dict
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Settings(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__

    def merged(self, **others):
        made = Settings(self)
        made.update(others)
        return made


class Registry(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.count = 0

    def __setitem__(self, key, value):
        self.count += 1
        super().__setitem__(key.lower(), value)

    def add(self, fn):
        self[fn.__name__] = fn
        return fn


REGISTRY = Registry()


@REGISTRY.add
def Double():
    return 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        s = Settings(a=1, b=2).merged(c=3)
        s.d = 4
        self.total = sum(s.values()) + s.a * 100 + len(s)
        self.keys = sorted(s) + [k for k, _ in s.items()]
        self.inside = ['a' in s, 'z' in s, isinstance(s, dict), 'double' in REGISTRY]
        self.made = REGISTRY['double']() + REGISTRY.count
        self.text = str(Settings(x=1))
        self.spread = dict(**s, e=5)['e']

    def forward(self, x):
        return x + self.total, self.keys, self.inside, self.made, self.text, self.spread

# case: errors in contexts that generators make
# make: Net()
# call: forward(numbers(2))
import contextlib
import torch
from torch import nn

seen = []


@contextlib.contextmanager
def watched(name):
    try:
        yield name
    except ValueError:
        seen.append('seen ' + name)
        raise
    except KeyError as error:
        seen.append('swallowed ' + str(error))


def steps():
    try:
        raise ValueError('first')
    except ValueError:
        yield 1
        try:
            yield 2
            raise
        except ValueError as error:
            yield str(error)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            with watched('a'):
                raise ValueError('inner')
        except ValueError as error:
            self.message = str(error)
        with watched('b'):
            {}['missing']
        made = steps()
        try:
            raise KeyError('outer')
        except KeyError:
            first = next(made)
            try:
                raise
            except KeyError as error:
                self.outer = str(error) + str(first)
        self.rest = [str(each) for each in made]
        self.seen = list(seen)

    def forward(self, x):
        return self.message, self.outer, self.rest, self.seen

# case: contexts of contextlib
# make: Net()
# call: forward(numbers(2))
import contextlib
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 1
        with contextlib.suppress(KeyError, AttributeError):
            self.n = 2
            {}['missing']
            self.n = 3
        with contextlib.nullcontext(5) as five:
            self.five = five
        with contextlib.suppress(LookupError):
            [][4]
        try:
            with contextlib.suppress(KeyError):
                raise ValueError('through')
        except ValueError as error:
            self.message = str(error)

    def forward(self, x):
        return self.n, self.five, self.message

# case: total_ordering and singledispatch
# make: Net()
# call: forward(numbers(2))
import functools
import torch
from torch import nn


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts


@functools.singledispatch
def width_of(value):
    return -1


@width_of.register(int)
def _(value):
    return value


@width_of.register(nn.Linear)
def _(layer):
    return layer.out_features


@width_of.register(list)
def _(values):
    return sum(width_of(each) for each in values)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, b = Version(1, 2), Version(1, 3)
        self.order = [a < b, a > b, a <= b, a >= b, a >= Version(1, 2), a != b]
        self.sorted = [v.parts[1] for v in sorted([b, a, Version(1, 0)])]
        self.widths = [width_of(3), width_of('x'), width_of([1, [2, 3]]), width_of(nn.Linear(2, 7)), width_of(True) + 1]

    def forward(self, x):
        return self.order, self.sorted, self.widths

# case: total_ordering of nothing
# make: Net()
import functools
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()

        @functools.total_ordering
        class Version:
            pass

# case: contexts within a with
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn

seen = []


class Watched:
    def __init__(self, name, takes=False, falls=False):
        self.name, self.takes, self.falls = name, takes, falls

    def __enter__(self):
        if self.falls:
            raise ValueError('cannot enter ' + self.name)
        return self.name

    def __exit__(self, kind, value, trace):
        seen.append(f'{self.name} {kind is not None} {value}')
        return self.takes


def steps():
    with Watched('e'), Watched('f', takes=True) as name:
        yield name
        raise KeyError('in f')
    yield 'behind'


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with Watched('a'), Watched('b', takes=True) as b:
            raise KeyError(b)
        try:
            with Watched('c'), Watched('d', falls=True):
                seen.append('never')
        except ValueError as error:
            seen.append(str(error))
        self.steps = list(steps())
        self.seen = list(seen)

    def forward(self, x):
        return self.steps, self.seen
