# case: a tree of modules by recursion
# make: Tree(2)
# call: forward(numbers(2, 4))
import torch
from torch import nn


class Tree(nn.Module):
    def __init__(self, levels, width=4):
        super().__init__()
        self.here = nn.Linear(width, width)
        self.left = Tree(levels - 1, width) if levels else nn.Identity()
        self.right = Tree(levels - 1, width) if levels else nn.Identity()

    def forward(self, x):
        x = self.here(x)
        return self.left(x) + self.right(x)

# case: module replaced afterwards
# make: make()
# call: forward(numbers(2, 4))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        self.head = nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.body(x))


def make():
    net = Net()
    net.head = nn.Identity()
    net.body[1] = nn.Tanh()
    net.body[-1] = nn.Linear(4, 3)
    del net.body[0]
    net.extra = nn.Linear(1, 1)
    for name, child in list(net.named_children()):
        if isinstance(child, nn.Identity):
            setattr(net, name, nn.Softmax(dim=-1))
    return net

# case: layers replaced throughout
# make: make()
# call: forward(numbers(2, 4))
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


def replaced(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            module._modules[name] = Scaled(child)
        else:
            replaced(child)
    return module


def make():
    return replaced(nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2))))

# case: parameters by setattr, getattr and hasattr
# make: Net()
# call: forward(numbers(3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3):
            self.register_parameter(f'w{i}', nn.Parameter(torch.full((3,), float(i))))
            self.register_buffer(f'b{i}', torch.full((3,), float(i)), persistent=i > 0)
        self.register_parameter('none', None)
        self.register_buffer('nothing', None)
        del self.w0
        self.kept = [n for n, _ in self.named_parameters()] + sorted(self.state_dict())
        self.has = [hasattr(self, 'w0'), hasattr(self, 'w1'), hasattr(self, 'none')]

    def forward(self, x):
        if self.none is None and self.nothing is None:
            x = x + self.w1 + self.b2 + self.b0
        return x, self.kept, self.has

# case: a parameter set to None
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.a.bias = None
        self.w = nn.Parameter(torch.ones(2))
        self.w = None

    def forward(self, x):
        if self.w is not None:
            x = x * 2
        return self.a(x)

# case: a number in the place of a parameter
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.w = torch.zeros(2)

# case: a number in the place of a module
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.ReLU()
        self.w = 3

# case: a module before init
# make: Net()
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(torch.ones(1))
        super().__init__()

# case: names that are taken
# make: Net(0)
# make: Net(1)
# make: Net(2)
# make: Net(3)
# make: Net(4)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, which):
        super().__init__()
        self.a = 1
        if which == 0:
            self.register_buffer('a', torch.ones(1))
        if which == 1:
            self.register_parameter('x.y', nn.Parameter(torch.ones(1)))
        if which == 2:
            self.add_module('', nn.ReLU())
        if which == 3:
            self.add_module('b', 3)
        if which == 4:
            self.register_parameter('w', torch.ones(1))

# case: get_submodule and friends
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
        self.a = self.get_submodule('body.0.0').out_features
        self.b = list(self.get_parameter('body.0.0.weight').shape)
        self.c = self.get_buffer('body.0.1.running_mean').numel()

    def forward(self, x):
        return self.body(x), self.a, self.b, self.c

# case: get_submodule that is not there
# make: Net(0)
# make: Net(1)
# make: Net(2)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, which):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3))
        if which == 0:
            self.get_submodule('body.7')
        if which == 1:
            self.get_parameter('body.0.w')
        if which == 2:
            self.get_submodule('body.0.weight')

# case: an index out of range
# make: Net(0)
# make: Net(1)
# make: Net(2)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, which):
        super().__init__()
        if which == 0:
            nn.ModuleList([nn.ReLU()])[1]
        if which == 1:
            nn.Sequential(nn.ReLU())[2]
        if which == 2:
            nn.ModuleDict({'a': nn.ReLU()})['b']

# case: containers of the wrong things
# make: Net(0)
# make: Net(1)
# make: Net(2)
# make: Net(3)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, which):
        super().__init__()
        if which == 0:
            self.x = nn.Sequential(nn.ReLU(), 3)
        if which == 1:
            self.x = nn.ModuleList(nn.ReLU())
        if which == 2:
            self.x = nn.ModuleDict([('a', nn.ReLU()), ('b', torch.relu)])
        if which == 3:
            self.x = nn.ModuleList([nn.ReLU(), None, 'a'])

# case: module lists in every way
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(2):
            self.layers.append(nn.Linear(3, 3))
        self.layers += [nn.ReLU()]
        self.layers.extend(nn.ModuleList([nn.Tanh()]))
        self.layers.insert(1, nn.Sigmoid())
        self.more = self.layers[1:3] + nn.ModuleList([nn.ReLU()])
        self.layers.pop(-1)
        self.n = len(self.layers) * 10 + len(self.more)
        self.kinds = [type(each).__name__ for each in self.layers] + [type(each).__name__ for each in self.more]

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for a, b in zip(self.layers, self.more):
            x = a(x) + b(x)
        x = self.layers[0](x)
        x = self.layers[-1](x)
        for other in self.layers[:2]:
            x = other(x)
        return x, self.n, self.kinds

# case: module dicts in every way
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict([['a', nn.Linear(3, 2)], ['b', nn.Linear(3, 4)]])
        self.heads['c'] = nn.Identity()
        self.heads.update({'d': nn.Tanh(), 'b': nn.ReLU()})
        self.heads.pop('d')
        self.acts = nn.ModuleDict({'relu': nn.ReLU()})
        self.keys = list(self.heads.keys()) + sorted(self.acts)
        self.inside = 'a' in self.heads and 'z' not in self.heads

    def forward(self, x):
        out = []
        for name, head in self.heads.items():
            out.append(head(x))
        for head in self.heads.values():
            out.append(head(x))
        for name in self.heads.keys():
            if name == 'b':
                out.append(x)
        if 'relu' in self.acts:
            out.append(self.acts['relu'](x))
        return out, self.keys, self.inside, len(self.heads)

# case: sequentials in every way
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.both = a + nn.Sequential(nn.Tanh())
        self.cut = self.both[:2]
        a.append(nn.Sigmoid()).extend([nn.ReLU()]).insert(0, nn.Identity())
        self.a = a
        self.n = len(a)
        self.last = type(self.both[-1]).__name__

    def forward(self, x):
        for layer in self.a:
            x = layer(x)
        return self.both(x) + self.cut(x) + self.a[1](x), self.n, self.last

# case: a Sequential of two inputs
# make: Net()
import torch
from torch import nn


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Add(), nn.ReLU())

    def forward(self, x):
        return self.body(x, x)

# case: a module called as an argument
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x) + x


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x):
        return self.fn(self.norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(2):
            self.layers.append(nn.ModuleList([Residual(PreNorm(3, nn.Linear(3, 3))), Residual(nn.GELU())]))

    def forward(self, x):
        for attn, ff in self.layers:
            x = ff(attn(x))
        return x

# case: functions of torch.nn.functional as attributes
# make: Net()
# call: forward(numbers(2, 3))
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, act=F.gelu, other=torch.tanh):
        super().__init__()
        self.act = act
        self.other = other
        self.table = {'relu': F.relu}['relu']

    def forward(self, x):
        return self.table(self.act(x)) + self.other(x)

# case: a partial as an attribute
# make: Net()
import functools
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = functools.partial(F.gelu, approximate='tanh')

    def forward(self, x):
        return self.act(x)

# case: modules that are shared have one place
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        shared = nn.Linear(3, 3)
        self.one = nn.Sequential(shared, nn.ReLU())
        self.two = nn.Sequential(nn.Tanh(), shared)
        self.weight = shared.weight
        self.n = sum(p.numel() for p in self.parameters())
        self.names = [n for n, _ in self.named_parameters()]
        self.all = len(list(self.named_parameters(remove_duplicate=False)))
        self.modules_count = len(list(self.modules()))

    def forward(self, x):
        return self.two(self.one(x)) + self.weight.sum(), self.n, self.names, self.all, self.modules_count

# case: tied weights stay tied in another type
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3, bias=False)
        self.b = nn.Linear(3, 3, bias=False)
        self.b.weight = self.a.weight
        self.double()
        self.same = self.a.weight is self.b.weight
        self.dtype = str(self.a.weight.dtype)
        self.float()

    def forward(self, x):
        return self.b(self.a(x)), self.same, self.dtype

# case: data of parameters
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)
        self.a.weight.data = torch.arange(6.0).reshape(2, 3)
        self.a.bias.data.fill_(0.5)
        self.a.weight.data[0] *= 2
        self.a.weight.data.mul_(0.5)
        with torch.no_grad():
            self.a.bias.copy_(torch.tensor([1.0, 2.0]))
            self.a.bias[1] += 1
        self.b = nn.Parameter(torch.empty(2).uniform_(1, 1), requires_grad=False)
        self.info = [self.a.weight.requires_grad, self.b.requires_grad, self.a.weight.is_leaf]

    def forward(self, x):
        return self.a(x) + self.b, self.info

# case: train, eval and modes
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Frozen(nn.BatchNorm1d):
    def train(self, mode=True):
        return super().train(False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = Frozen(3)
        self.drop = nn.Dropout(0.5)
        self.train()
        self.modes = [m.training for m in self.modules()]
        self.eval()

    def forward(self, x):
        return self.drop(self.bn(x)), self.modes, self.training

# case: forward hooks during init
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        shapes = []
        handles = [m.register_forward_hook(lambda mod, i, o: shapes.append((type(mod).__name__, tuple(o.shape)))) for m in self.body]
        self.body(torch.zeros(5, 3))
        for h in handles:
            h.remove()
        self.shapes = [s for _, s in shapes]
        self.names = [n for n, _ in shapes]

    def forward(self, x):
        return self.body(x), self.shapes, self.names

# case: sizes found by a pass of zeros
# make: Net()
# call: forward(numbers(1, 1, 8, 8))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, in_shape=(1, 8, 8)):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(in_shape[0], 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        with torch.no_grad():
            n = self.features(torch.zeros(1, *in_shape)).shape[1]
        self.head = nn.Linear(n, 2)

    def forward(self, x):
        return self.head(self.features(x))

# case: extra state
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 3

    def get_extra_state(self):
        return {'steps': self.steps}

    def set_extra_state(self, state):
        self.steps = state['steps'] * 2

    def forward(self, x):
        return x * self.steps


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        state = self.state_dict()
        self.keys = list(state)
        self.load_state_dict(state)

    def forward(self, x):
        return self.inner(x), self.keys

# case: apply with init functions
# make: Net()
# call: forward(numbers(2, 3))
import math
import torch
from torch import nn


def init_weights(m, scale=1.0):
    if type(m) == nn.Linear:
        nn.init.constant_(m.weight, 0.1 * scale)
        nn.init.zeros_(m.bias)
    elif isinstance(m, (nn.LayerNorm, nn.BatchNorm1d)):
        nn.init.ones_(m.weight)
    elif hasattr(m, 'reset_parameters'):
        m.reset_parameters()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.Sequential(nn.Linear(3, 2)))
        self.apply(init_weights)
        self.body.apply(lambda m: init_weights(m, 2.0))
        self.bound = 1 / math.sqrt(self.body[0].weight.size(1))
        self.sum = float(self.body[2][0].weight.sum())

    def forward(self, x):
        return self.body(x), self.bound, self.sum
