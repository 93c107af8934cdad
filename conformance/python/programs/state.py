# case: sync batchnorm
# make: Net()
# call: forward(numbers(2, 3, 4, 4))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)))

    def forward(self, x):
        return self.body(x)

# case: sync batchnorm names
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        body = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU()))
        self.names = [type(m).__name__ for m in body.modules()]
        self.momentum = body[1].momentum
        self.same = body[0].weight.sum()

    def forward(self, x):
        return self.names, self.momentum

# case: state dict hooks
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self._register_load_state_dict_pre_hook(self.rename)
        self._register_state_dict_hook(lambda module, state, prefix, meta: state.update({prefix + 'extra': torch.zeros(1)}))
        self.register_load_state_dict_post_hook(self.after)
        self.loaded = 0

    def rename(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        old = prefix + 'old'
        if old in state_dict:
            state_dict[prefix + 'w'] = state_dict.pop(old)

    def after(self, module, incompatible):
        self.loaded = self.loaded + 1

    def forward(self, x):
        return x * self.w


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.keys = list(self.state_dict().keys())
        result = self.load_state_dict({'inner.old': torch.full((2,), 3.0)})
        self.missing = str(result)

    def forward(self, x):
        return self.inner(x), self.keys, self.missing, self.inner.loaded

# case: load_state_dict refuses
# make: Net(0)
# make: Net(1)
# make: Net(2)
# make: Net(3)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, which):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.BatchNorm1d(3)
        state = self.state_dict()
        if which == 0:
            del state['a.weight']
            del state['b.running_mean']
        if which == 1:
            state['c.other'] = torch.ones(2)
        if which == 2:
            state['a.weight'] = torch.ones(2, 2)
        if which == 3:
            state['a.weight'] = [1, 2]
        self.load_state_dict(state)

    def forward(self, x):
        return x

# case: load_state_dict not strict
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        state = self.state_dict()
        state['z'] = torch.ones(1)
        del state['a.bias']
        result = self.load_state_dict(state, strict=False)
        self.missing = result.missing_keys
        self.unexpected = result.unexpected_keys
        missing, unexpected = result
        self.counts = (len(missing), len(unexpected))

    def forward(self, x):
        return self.missing, self.unexpected, self.counts

# case: _apply of a module
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        nn.init.ones_(self.a.weight)
        self.register_buffer('b', torch.ones(2))
        self._apply(lambda t: t * 2)
        self.share_memory()

    def forward(self, x):
        return self.a.weight, self.b

# case: overridden _apply
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.applied = 0

    def _apply(self, fn):
        super()._apply(fn)
        self.applied += 1
        return self

    def forward(self, x):
        return self.w * x, self.applied


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = Scaled()
        self.float()
        self.to(torch.float32)
        self.cpu()

    def forward(self, x):
        return self.s(x)

# case: parameter dict items
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        for k, v in self.p.items():
            x = x + v
        return x

# case: parameter dict keys
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        for k in self.p.keys():
            x = x + len(k)
        return x

# case: parameter dict values
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        for v in self.p.values():
            x = x + v
        return x

# case: parameter dict subscript
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        return x + self.p['a']

# case: parameter dict attribute
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        return x + self.p.a

# case: parameter dict in
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        if 'a' in self.p:
            x = x + 1
        return x

# case: parameter dict len
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({'a': torch.ones(2), 'b': torch.zeros(2)})

    def forward(self, x):
        return x + len(self.p)

# case: parameter list forms
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterList([torch.ones(2), torch.zeros(2)])

    def forward(self, x):
        for i, v in enumerate(self.p):
            x = x + v * i
        return x + self.p[0] + len(self.p)

# case: parameter list by variable
# make: Net()
# call: forward(numbers(2), 1)
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterList([torch.ones(2), torch.zeros(2)])

    def forward(self, x, i: int):
        return x + self.p[i]

# case: parameter list sliced
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterList([torch.ones(2), torch.zeros(2), torch.ones(2)])

    def forward(self, x):
        for p in self.p[1:]:
            x = x + p
        return x + self.p[-1]

# case: future annotations with Final
# make: Net()
# call: forward(numbers(2))
from __future__ import annotations
import torch
from torch import nn
from typing import Final


class Net(nn.Module):
    n: Final[int]

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x + self.n

# case: future annotations with torch.jit.Final
# make: Net()
# call: forward(numbers(2))
from __future__ import annotations
import torch
from torch import nn


class Net(nn.Module):
    n: torch.jit.Final[int]

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        if self.n > 2:
            x = x + 1
        else:
            x = [x]
        return x

# case: future annotations
# make: Net()
# call: forward(numbers(2), 2)
from __future__ import annotations
import torch
from torch import nn
from typing import Optional, List


class Net(nn.Module):
    table: List[int]
    other: Optional[int]

    def __init__(self, n: int = 3):
        super().__init__()
        self.table = []
        self.other = None

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        if self.other is not None:
            return x + self.other
        return x + n + len(self.table)

# case: range subscripts
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        r = []
        for i in range(10)[2:5]:
            r.append(i)
        return r

# case: range subscripts in init
# make: Net()
# call: forward(numbers(2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = list(range(10)[2:5])
        self.b = range(10)[-1]
        self.c = len(range(10)[::3])
        self.d = list(range(10)[::-1])
        self.e = list(range(1, 10, 2)[1:])
        self.f = list(range(3)[5:])

    def forward(self, x):
        return self.a, self.b, self.c, self.d, self.e

# case: range indexed
# make: Net()
# call: forward(numbers(2), 5)
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, n: int):
        return range(n)[2]

# case: range indexed out
# make: Net()
# call: forward(5, 4)
# call: forward(5, 5)
# call: forward(5, -1)
# call: forward(5, -6)
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, n: int, i: int):
        return range(n)[i]

# case: range indexed with start
# make: Net()
# call: forward(5, 2)
# call: forward(5, 3)
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, n: int, i: int):
        return range(1, n, 2)[i]

# case: tied parameters
# make: Net()
# call: forward(whole(3, below=5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.emb.weight
        self.other = self.head
        self.register_buffer('one', torch.ones(1))
        self.register_buffer('two', self.one)

    def forward(self, x):
        return self.head(self.emb(x)) + self.other(self.emb(x)) + self.one + self.two
