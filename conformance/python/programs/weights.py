# case: weight_norm
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.weight_norm(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)

# case: weight_norm dim none
# make: Net()
# call: forward(numbers(1,3,5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.weight_norm(nn.Conv1d(3, 4, 1), dim=None)

    def forward(self, x):
        return self.layer(x)

# case: weight_norm removed
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 4)))

    def forward(self, x):
        return self.layer(x)

# case: spectral_norm
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.spectral_norm(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)

# case: spectral_norm removed
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 4)))

    def forward(self, x):
        return self.layer(x)

# case: parametrizations weight_norm
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)

# case: parametrizations spectral_norm
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)

# case: parametrizations orthogonal
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)

# case: register_parametrization
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
import torch.nn.utils.parametrize as P

class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        P.register_parametrization(self.layer, "weight", Symmetric())

    def forward(self, x):
        return self.layer(x)

# case: parametrization removed
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
import torch.nn.utils.parametrize as P

class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        P.register_parametrization(self.layer, "weight", Symmetric())
        P.remove_parametrizations(self.layer, "weight")

    def forward(self, x):
        return self.layer(x)

# case: parametrization removed not left
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
import torch.nn.utils.parametrize as P

class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        P.register_parametrization(self.layer, "weight", Symmetric())
        P.remove_parametrizations(self.layer, "weight", leave_parametrized=False)

    def forward(self, x):
        return self.layer(x)

# case: orthogonal weight
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        m = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        self.w = m.weight.detach().clone()

    def forward(self, x):
        return self.w @ self.w.t()

# case: weight_norm removed new
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
        nn.utils.parametrize.remove_parametrizations(m, "weight")
        self.layer = m

    def forward(self, x):
        return self.layer(x)

# case: parameters_to_vector
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        l = nn.Linear(3, 2)
        self.v = nn.utils.parameters_to_vector(l.parameters()).detach()
        nn.utils.vector_to_parameters(torch.arange(8.0), l.parameters())
        self.layer = l

    def forward(self, x):
        return self.v.shape, self.layer(x)

# case: clip_grad_norm
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.n = float(nn.utils.clip_grad_norm_(self.layer.parameters(), 1.0))

    def forward(self, x):
        return self.n

# case: fuse_conv_bn
# make: Net()
# call: forward(numbers(1,3,2,2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        c, b = nn.Conv2d(3, 4, 1).eval(), nn.BatchNorm2d(4).eval()
        self.layer = nn.utils.fuse_conv_bn_eval(c, b)

    def forward(self, x):
        return self.layer(x)

# case: packed lstm
# make: Net()
# call: forward(numbers(2,5,3), torch.tensor([3, 5]))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x, lengths):
        p = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, h = self.layer(p)
        y, n = pad_packed_sequence(out, batch_first=True)
        return y, n, h[0]

# case: packed gru
# make: Net()
# call: forward(numbers(5,2,3), torch.tensor([5, 2]))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(3, 4, bidirectional=True)

    def forward(self, x, lengths):
        p = pack_padded_sequence(x, lengths)
        out, h = self.layer(p)
        y, n = pad_packed_sequence(out, total_length=6)
        return y, n, h

# case: packed rnn
# make: Net()
# call: forward(numbers(5,2,3), torch.tensor([2, 5]))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.RNN(3, 4)

    def forward(self, x, lengths):
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, False, False)
        out, h = self.layer(p)
        y, n = nn.utils.rnn.pad_packed_sequence(out)
        return y, n, h

# case: packed annotated
# make: Net()
# call: forward(numbers(5,2,3), torch.tensor([5, 2]))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.RNN(3, 4)

    def forward(self, x, lengths):
        p: PackedSequence = pack_padded_sequence(x, lengths)
        return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices

# case: packed helper
# make: Net()
# call: forward(numbers(5,2,3), torch.tensor([2, 5]))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.RNN(3, 4)

    def forward(self, x, lengths):
        return self.use(pack_padded_sequence(x, lengths, enforce_sorted=False))
        
    def use(self, p: PackedSequence):
        return p.data.sum(), len(p.batch_sizes)

# case: pad_sequence
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Identity()

    def forward(self, x):
        return pad_sequence([x, x[:1]], batch_first=True, padding_value=9.0)

# case: pack_sequence
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Identity()

    def forward(self, x):
        p = pack_sequence([x, x[:1]])
        return p.data

# case: unpad
# make: Net()
# call: forward(numbers(2,3,2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Identity()

    def forward(self, x):
        return nn.utils.rnn.unpad_sequence(x, torch.tensor([3, 2]), batch_first=True)

# case: unpack
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Identity()

    def forward(self, x):
        return nn.utils.rnn.unpack_sequence(pack_sequence([x, x[:1]]))

# case: adaptive
# make: Net()
# call: forward(numbers(5,4), whole(5, below=10))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6])

    def forward(self, x, t):
        r = self.layer(x, t)
        return r.output, r.loss

# case: adaptive wrong
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [6, 3])

    def forward(self, x):
        return self.layer(x)

# case: adaptive params
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10])
        self.keys = [(k, tuple(v.shape)) for k, v in m.named_parameters()]
        self.layer=nn.Identity()

    def forward(self, x):
        return len(self.keys)

# case: crossmap
# make: Net()
# call: forward(numbers(1,4,2,2))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.CrossMapLRN2d(2)

    def forward(self, x):
        return self.layer(x)

# case: lazy linear
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(4)

    def forward(self, x):
        return self.layer(x)

# case: lazy linear initialised
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(4)
        self.layer(torch.ones(2, 3))

    def forward(self, x):
        return self.layer(x)

# case: lazy conv
# make: Net()
# call: forward(numbers(1,2,5,5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.LazyConv2d(4, 3), nn.ReLU(), nn.LazyBatchNorm2d())
        self.layer(torch.ones(1, 2, 5, 5))

    def forward(self, x):
        return self.layer(x)

# case: lazy names
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        m = nn.LazyLinear(4)
        self.a = type(m).__name__
        self.b = m.has_uninitialized_params()
        self.c = m.in_features
        m(torch.ones(2, 3))
        self.d = type(m).__name__
        self.e = m.in_features

    def forward(self, x):
        return self.a, self.b, self.c, self.d, self.e

# case: lazy convt
# make: Net()
# call: forward(numbers(1,2,5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyConvTranspose1d(4, 3)
        self.layer(torch.ones(1, 2, 5))

    def forward(self, x):
        return self.layer(x)

# case: lazy instancenorm
# make: Net()
# call: forward(numbers(1,2,5))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyInstanceNorm1d(affine=True)
        self.layer(torch.ones(1, 2, 5))

    def forward(self, x):
        return self.layer(x)

# case: lazy wrong
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyConv2d(4, 3)
        self.layer(torch.ones(2, 5))

    def forward(self, x):
        return self.layer(x)

# case: lazy shape
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        m = nn.LazyLinear(4)
        self.s = m.weight.shape

    def forward(self, x):
        return self.layer(x)

# case: lazy bn1
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyBatchNorm1d()
        self.layer(torch.ones(4, 3))

    def forward(self, x):
        return self.layer(x)

# case: lazy not initialised params
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(4)
        self.n = sum(p.numel() for p in self.parameters())

    def forward(self, x):
        return self.layer(x)

# case: data parallel
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.DataParallel(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)

# case: container
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Container(a=nn.Linear(3,4))

    def forward(self, x):
        return self.layer.a(x)

# case: buffer
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Buffer(torch.ones(3))
        self.c = nn.Buffer(torch.zeros(3), persistent=False)
        self.names = [n for n, _ in self.named_buffers()]
        self.keys = list(self.state_dict())

    def forward(self, x):
        return x + self.b + self.c, self.names, self.keys

# case: uninitialized
# make: Net()
# call: forward(numbers(2, 3))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.parameter.UninitializedParameter()
        self.w.materialize((2, 3))
        nn.init.ones_(self.w)

    def forward(self, x):
        return x + self.w
